"""What a provider has signed, and takes back only as it was."""

import base64
import hashlib


class Seals:
    """Signatures of texts."""

    def __init__(self) -> None:
        self._signed: dict[str, str] = {}

    def sign(self, text: str) -> str:
        """Base64, as every wire has it."""
        digest = hashlib.sha256(f"sealed {len(self._signed)} {text}".encode()).digest()
        signature = base64.b64encode(digest).decode()
        self._signed[signature] = text
        return signature

    def text_of(self, signature: object) -> str | None:
        """What was signed; None if it was not here. Both alphabets of base64 will do."""
        if not isinstance(signature, str):
            return None
        return self._signed.get(signature.replace("-", "+").replace("_", "/"))

    def holds(self, signature: object, text: str) -> bool:
        return self.text_of(signature) == text
