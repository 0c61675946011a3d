// SPDX-License-Identifier: MIT

import PulseCore

/// The system's libssl, where there is one.
enum TLSLibrary {
    /// A new authority and what it has issued.
    struct GeneratedIdentity {
        let authority: Data
        let certificate: Data
        let key: Data
        /// The certificate and key of a client, in PKCS #12 under ``clientPassword``.
        let client: Data
    }

    /// Keeps nothing secret: whoever has the bytes beside it has made them in this process.
    static let clientPassword = "PulseTesting"

    static let unsupported = PulseError.unsupported(
        "TLS in MockServer: it needs the system's libssl, which is there on Linux only")
}

/// What the client has sent, once decrypted.
enum TLSInput {
    case bytes(Data)
    /// More has to come first.
    case empty
    /// The client has ended its side with a closure alert.
    case end
    /// The client has sent an alert that ends the connection.
    case refused(String)
    /// What has come is not in order; an alert for the client is ready to be sent.
    case failed(String)
}
