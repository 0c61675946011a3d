// SPDX-License-Identifier: MIT

public import PulseCore
import PulsePlatform

/// Signs each request to a home origin with HMAC-SHA256 (RFC 2104) over `METHOD|PATH|TIMESTAMP|BODY_HASH`. The server
/// can then verify the sender, and that the request was not changed on the way.
///
/// ```swift
/// let client = PulseClient(
///     configuration: configuration,
///     plugins: [.compression(), .signing(secret: secret, keyID: "2026-11", sendsNonce: true)])
/// ```
///
/// PATH is the percent-encoded path with `?` and the query as sent. TIMESTAMP is the Unix time in whole seconds, also
/// in `X-Pulse-Timestamp`. BODY_HASH is the SHA-256 of the bytes on the wire in lower-case hexadecimal digits: of the
/// empty string without a body, of the compressed bytes of a compressed body. The signature is hexadecimal too. Headers
/// are not covered.
///
/// With a nonce there is a fifth part, `|NONCE`, and the header `X-Pulse-Nonce`. A key id is sent in `X-Pulse-Key-ID`.
///
/// Put it after all plugins that change requests. Every attempt and every hop gets a new signature, for home origins
/// only. Requests to another origin, and those of a client without base URL and trusted origins, pass unchanged. A file
/// is read twice, once for the hash; a stream is created twice. ``SignatureVerifier`` is the server's side.
///
/// A call fails before it is sent with ``PulseError/unsupported(_:)`` for a one-shot stream and where the system has no
/// hash functions. It fails with ``PulseError/invalidRequest(reason:)`` for an empty secret, an invalid header name, or
/// a key id that is no valid header value.
public struct RequestSigningPlugin: PulsePlugin {
    private let signer: Result<Signer, PulseError>
    private let signatureHeader: String
    private let keyID: String?
    private let keyIDNamesUser: Bool
    private let sendsNonce: Bool
    /// Whether the header is secret by its name; otherwise it must be marked as secret.
    private let isWellKnownSecret: Bool
    private static let homelessWarning =
        "RequestSigningPlugin signs nothing: the client has neither a base URL nor trusted origins"

    private struct Signer: Sendable {
        let key: SigningKey
        let bodyHash: BodyHash
    }

    public var identifier: String { "com.pulse.signing" }

    /// Signs with a string as the secret.
    ///
    /// - Parameter secret: its UTF-8 bytes are the key. Use at least 32 random bytes, which are hard to guess.
    /// - Parameter signatureHeader: the header for the signature; `X-Signature-256` by default.
    /// - Parameter keyID: identifies the secret to the server; it is not a secret itself, and not signed. None by
    ///   default.
    /// - Parameter keyIDNamesUser: whether the server distinguishes users by the key id, for example because each user
    ///   or device has its own secret. False by default. If true, the key id is a credential that an outer cache has
    ///   not seen: responses are neither stored nor shared, and logs do not show the id. Leave it false if all users
    ///   have the same key id, or if ``TokenProvider/accountID`` distinguishes them.
    /// - Parameter sendsNonce: adds 128 random bits, so that the server can detect a replayed request. False by
    ///   default.
    public init(
        secret: String, signatureHeader: String = "X-Signature-256", keyID: String? = nil,
        keyIDNamesUser: Bool = false, sendsNonce: Bool = false
    ) {
        self.init(
            secret: Data(secret.utf8), signatureHeader: signatureHeader, keyID: keyID,
            keyIDNamesUser: keyIDNamesUser, sendsNonce: sendsNonce)
    }

    /// Signs with a key of any bytes; otherwise like
    /// ``init(secret:signatureHeader:keyID:keyIDNamesUser:sendsNonce:)-(String,_,_,_,_)``.
    public init(
        secret: Data, signatureHeader: String = "X-Signature-256", keyID: String? = nil,
        keyIDNamesUser: Bool = false, sendsNonce: Bool = false
    ) {
        self.init(
            secret: secret, signatureHeader: signatureHeader, keyID: keyID, keyIDNamesUser: keyIDNamesUser,
            sendsNonce: sendsNonce, hashes: SystemHashes.library)
    }

    init(
        secret: Data, signatureHeader: String, keyID: String?, keyIDNamesUser: Bool = false, sendsNonce: Bool,
        hashes: (any HashLibrary)?
    ) {
        self.signatureHeader = signatureHeader
        self.keyID = keyID
        self.keyIDNamesUser = keyIDNamesUser
        self.sendsNonce = sendsNonce
        isWellKnownSecret = Redaction.standard.isSecret(signatureHeader)
        signer = Result {
            guard signatureHeader.isHTTPToken,
                !SignatureHeaders.companions.contains(where: signatureHeader.equalsIgnoringASCIICase)
            else {
                throw PulseError.invalidRequest(reason: "not a valid header name for a signature: \(signatureHeader)")
            }
            let key = try SigningKey(secret: secret, hashes: hashes)
            return Signer(key: key, bodyHash: BodyHash(key.hashes))
        }
        .mapError { PulseError(wrapping: $0) }
    }

    public func intercept(
        _ request: URLRequest, for context: PluginContext, next: PluginChain
    ) async throws -> PulseResponse {
        guard let url = request.url, isHome(url, context) else { return try await next(request) }
        let signer = try signer.get()
        // Most requests have no body or an in-memory one, and do not need an asynchronous function.
        if case .inRequest = context.body {
            let bodyHash = try signer.bodyHash.hex(of: request.httpBody)
            return try await next(signed(request, url, bodyHash: bodyHash, by: signer, for: context))
        }
        return try await next(signedBySource(request, url, by: signer, for: context))
    }

    private func signedBySource(
        _ request: URLRequest, _ url: URL, by signer: Signer, for context: PluginContext
    ) async throws -> URLRequest {
        let bodyHash = try await signer.bodyHash.hex(
            of: context.body, in: request)
        return try signed(request, url, bodyHash: bodyHash, by: signer, for: context)
    }

    private func signed(
        _ request: URLRequest, _ url: URL, bodyHash: String, by signer: Signer, for context: PluginContext
    ) throws -> URLRequest {
        let timestamp = try Self.timestamp(context.clock.now)
        let nonce = sendsNonce ? Self.nonce(context.randomness) : nil
        let text = SignedText(
            method: request.httpMethod ?? "GET", target: url.absoluteString, timestamp: timestamp, bodyHash: bodyHash,
            nonce: nonce)
        guard let text else {
            throw PulseError.invalidRequest(reason: "a method or URL that contains | cannot be signed")
        }
        if !isWellKnownSecret { context.markSignature(header: signatureHeader) }
        var fields: [(name: String, value: String?)] = [
            (signatureHeader, try signer.key.signature(of: text)), (SignatureHeaders.timestamp, timestamp),
        ]
        if let nonce { fields.append((SignatureHeaders.nonce, nonce)) }
        if let keyID {
            if keyIDNamesUser { context.markSecret(header: SignatureHeaders.keyID) }
            fields.append((SignatureHeaders.keyID, keyID))
        }
        var request = request
        request.setHeaders(fields)
        return request
    }

    private func isHome(_ url: URL, _ context: PluginContext) -> Bool {
        if context.isTrusted(url) { return true }
        if context.call.environment.home.isEmpty { context.call.environment.warnOnce(Self.homelessWarning) }
        return false
    }

    private static func timestamp(_ now: Date) throws -> String {
        guard let seconds = Int64(exactly: now.timeIntervalSince1970.rounded(.down)) else {
            throw PulseError.invalidRequest(reason: "the clock's time cannot be written as a timestamp")
        }
        return String(seconds)
    }

    private static func nonce(_ randomness: any Randomness) -> String {
        [randomness.next(), randomness.next()]
            .map { bits in
                let digits = String(bits, radix: 16)
                return String(repeating: "0", count: 16 - digits.count) + digits
            }
            .joined()
    }
}

// Bytes and files take a short time to hash; streams are hashed in a task that the call's end cancels.
extension RequestSigningPlugin: HookDeclaring {}

extension RequestSigningPlugin: CustomStringConvertible, CustomReflectable {
    /// The header's name, never the secret.
    public var description: String { "RequestSigningPlugin(\(signatureHeader))" }

    public var customMirror: Mirror { Mirror(self, children: ["signatureHeader": signatureHeader]) }
}

extension PulsePlugin where Self == RequestSigningPlugin {
    /// A ``RequestSigningPlugin`` with a string as its secret:
    /// ``RequestSigningPlugin/init(secret:signatureHeader:keyID:keyIDNamesUser:sendsNonce:)-(String,_,_,_,_)``.
    public static func signing(
        secret: String, signatureHeader: String = "X-Signature-256", keyID: String? = nil,
        keyIDNamesUser: Bool = false, sendsNonce: Bool = false
    ) -> RequestSigningPlugin {
        RequestSigningPlugin(
            secret: secret, signatureHeader: signatureHeader, keyID: keyID, keyIDNamesUser: keyIDNamesUser,
            sendsNonce: sendsNonce)
    }

    /// A ``RequestSigningPlugin`` with a key of any bytes.
    public static func signing(
        secret: Data, signatureHeader: String = "X-Signature-256", keyID: String? = nil,
        keyIDNamesUser: Bool = false, sendsNonce: Bool = false
    ) -> RequestSigningPlugin {
        RequestSigningPlugin(
            secret: secret, signatureHeader: signatureHeader, keyID: keyID, keyIDNamesUser: keyIDNamesUser,
            sendsNonce: sendsNonce)
    }
}
