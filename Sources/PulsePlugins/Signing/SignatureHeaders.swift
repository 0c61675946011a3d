// SPDX-License-Identifier: MIT

/// The header fields of a signed request.
enum SignatureHeaders {
    static let signature = "X-Signature-256"
    static let timestamp = "X-Pulse-Timestamp"
    static let nonce = "X-Pulse-Nonce"
    static let keyID = "X-Pulse-Key-ID"

    static let companions = [timestamp, nonce, keyID]
}
