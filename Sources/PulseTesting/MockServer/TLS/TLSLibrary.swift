// SPDX-License-Identifier: MIT

import PulseCore

/// The system's libssl, if there is one.
enum TLSLibrary {
    /// A new authority and the certificates that it has issued.
    struct GeneratedIdentity {
        let authority: Data
        let certificate: Data
        let key: Data
        /// The certificate and key of a client, in PKCS #12 under ``clientPassword``.
        let client: Data
    }

    /// It protects nothing: the bytes are made in the same process.
    static let clientPassword = "PulseTesting"

    static let unsupported = PulseError.unsupported(
        "TLS in MockServer: it needs the system's libssl, which is available on Linux only")
}

/// The client's input after decryption.
enum TLSInput {
    case bytes(Data)
    /// More bytes are needed.
    case empty
    /// The client has ended its side with a closure alert.
    case end
    /// The client has sent an alert that ends the connection.
    case refused(String)
    /// The input is invalid; an alert for the client is ready to be sent.
    case failed(String)
}
