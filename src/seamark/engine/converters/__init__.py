"""Converters that come with Seamark; each behaves like the Java class of the same name, byte for byte."""
