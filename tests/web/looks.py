"""What can be measured of how a page looks: contrast of its texts, and whether it fits its window."""

from __future__ import annotations

import json
from typing import Any

# Each visible text with the colour that is behind it, as the browser has computed both.
_CONTRASTS = """
() => {
  const parse = (text) => {
    const found = text.match(/[\\d.]+/g);
    if (!found) return [0, 0, 0, 0];
    const parts = found.map(Number);
    if (text.startsWith("color(srgb")) return [...parts.slice(0, 3).map((part) => part * 255), parts[3] ?? 1];
    return [parts[0], parts[1], parts[2], parts[3] ?? 1];
  };
  const over = (top, below) => {
    const alpha = top[3];
    return [0, 1, 2].map((i) => top[i] * alpha + below[i] * (1 - alpha)).concat(1);
  };
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const ratio = (a, b) => {
    const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (light + 0.05) / (dark + 0.05);
  };
  const behind = (element) => {
    const layers = [];
    if (element instanceof SVGElement) {
      let box = element.previousElementSibling;
      while (box && box.tagName !== "rect") box = box.previousElementSibling;
      const fill = box ? parse(getComputedStyle(box).fill) : [0, 0, 0, 0];
      if (fill[3] === 1) return fill;
    }
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour[3] > 0) layers.push(colour);
      if (colour[3] === 1) break;
    }
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim();
    const element = walker.currentNode.parentElement;
    if (!text || !element.checkVisibility({ visibilityProperty: true })) continue;
    if (["SCRIPT", "STYLE", "TITLE", "OPTION"].includes(element.tagName.toUpperCase())) continue;
    const box = element.getBoundingClientRect();
    if (box.width < 2 || box.height < 2 || element.closest(".sm-hidden, .sm-skip")) continue;
    const style = getComputedStyle(element);
    const isSvg = element instanceof SVGElement;
    const below = behind(element);
    const colour = over(parse(isSvg ? style.fill : style.color), below);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const got = ratio(colour, below);
    if (got < (isLarge ? 3 : 4.5)) {
      const seen = `${style.color} on ${below.map(Math.round)}, ${element.className}`;
      found.push(`${text.slice(0, 40)}: ${got.toFixed(2)} (${seen})`);
    }
  }
  return found;
}
"""


def poor_contrasts(page: Any) -> list[str]:
    """Texts whose contrast is less than WCAG AA asks for."""
    return list(page.evaluate(_CONTRASTS))


def overflow(page: Any) -> int:
    """By how many pixels the page is wider than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"))


def unnamed(page: Any) -> list[str]:
    """Controls that a reader of the screen has no name for."""
    script = """
    () => [...document.querySelectorAll("button, a[href], input, select, textarea")]
      .filter((each) => each.checkVisibility())
      .filter((each) => !(each.getAttribute("aria-label") || each.textContent.trim() || each.title
        || (each.labels && [...each.labels].some((label) => label.textContent.trim()))))
      .map((each) => each.outerHTML.slice(0, 120))
    """
    return list(page.evaluate(script))


def described(values: list[str]) -> str:
    """For messages of failures."""
    return json.dumps(values, indent=2)
