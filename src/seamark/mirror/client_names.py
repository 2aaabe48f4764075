"""The settings that MirrorMaker 2 takes for those of a cluster: where it is and how to talk to it securely.

Of what a configuration says about a cluster (``source.cluster.*`` of a connector, ``A.*`` of a mirror-maker file) only
these reach all of its clients; anything else is given per kind of client (``source.consumer.*``, ``A.producer.*``).
"""

from __future__ import annotations

from typing import Final

SECURITY_NAMES: Final[tuple[str, ...]] = tuple(
    """ssl.protocol ssl.provider ssl.cipher.suites ssl.enabled.protocols ssl.keystore.type ssl.keystore.location
    ssl.keystore.password ssl.key.password ssl.keystore.key ssl.keystore.certificate.chain ssl.truststore.certificates
    ssl.truststore.type ssl.truststore.location ssl.truststore.password ssl.keymanager.algorithm
    ssl.trustmanager.algorithm ssl.endpoint.identification.algorithm ssl.secure.random.implementation
    ssl.engine.factory.class
    sasl.kerberos.service.name sasl.kerberos.kinit.cmd sasl.kerberos.ticket.renew.window.factor
    sasl.kerberos.ticket.renew.jitter sasl.kerberos.min.time.before.relogin sasl.login.refresh.window.factor
    sasl.login.refresh.window.jitter sasl.login.refresh.min.period.seconds sasl.login.refresh.buffer.seconds
    sasl.mechanism sasl.jaas.config sasl.client.callback.handler.class sasl.login.callback.handler.class
    sasl.login.class sasl.login.connect.timeout.ms sasl.login.read.timeout.ms sasl.login.retry.backoff.max.ms
    sasl.login.retry.backoff.ms sasl.oauthbearer.jwt.retriever.class sasl.oauthbearer.jwt.validator.class
    sasl.oauthbearer.scope sasl.oauthbearer.client.credentials.client.id
    sasl.oauthbearer.client.credentials.client.secret sasl.oauthbearer.assertion.algorithm
    sasl.oauthbearer.assertion.claim.aud sasl.oauthbearer.assertion.claim.exp.seconds
    sasl.oauthbearer.assertion.claim.iss sasl.oauthbearer.assertion.claim.jti.include
    sasl.oauthbearer.assertion.claim.nbf.seconds sasl.oauthbearer.assertion.claim.sub sasl.oauthbearer.assertion.file
    sasl.oauthbearer.assertion.private.key.file sasl.oauthbearer.assertion.private.key.passphrase
    sasl.oauthbearer.assertion.template.file sasl.oauthbearer.scope.claim.name sasl.oauthbearer.sub.claim.name
    sasl.oauthbearer.token.endpoint.url sasl.oauthbearer.jwks.endpoint.url sasl.oauthbearer.jwks.endpoint.refresh.ms
    sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.ms
    sasl.oauthbearer.clock.skew.seconds sasl.oauthbearer.expected.audience sasl.oauthbearer.expected.issuer
    sasl.oauthbearer.header.urlencode""".split()
)
"""In the order in which Kafka defines them."""

CLIENT_NAMES: Final[tuple[str, ...]] = ("bootstrap.servers", "security.protocol", *SECURITY_NAMES)
"""All settings of a cluster."""
