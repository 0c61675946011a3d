// SPDX-License-Identifier: MIT

public import PulseCore
import PulseStorage

/// Signs each request that goes home with HMAC-SHA256 (RFC 2104) over `METHOD|PATH|TIMESTAMP|BODY_HASH`, so that the
/// server knows who sent it and that nobody changed it on the way.
///
/// PATH is the percent-encoded path with `?` and the query as they are sent, TIMESTAMP the Unix time in whole seconds,
/// also in `X-Pulse-Timestamp`, and BODY_HASH the SHA-256 of the bytes on the wire in lower-case hexadecimal digits: of
/// the empty string without a body, of the compressed bytes of a compressed one. The signature is hexadecimal too.
/// Headers are not covered.
///
/// With a nonce there is a fifth part, `|NONCE`, and the header `X-Pulse-Nonce`. A key id goes into `X-Pulse-Key-ID`.
///
/// Put it behind all plugins that change requests. Every attempt and every hop is signed anew, at home only: requests
/// to another origin, and those of a client without base URL and trusted origins, pass untouched. A file is read twice,
/// once to be hashed; a stream is made twice. ``SignatureVerifier`` is the server's side.
///
/// A call fails before it is sent with ``PulseError/unsupported(_:)`` for a one-shot stream and where the system has no
/// hash functions, and with ``PulseError/invalidRequest(reason:)`` for an empty secret, an invalid header name, or a
/// key id that cannot stand in a header.
public struct RequestSigningPlugin: PulsePlugin {
    private let signer: Result<Signer, PulseError>
    private let signatureHeader: String
    private let keyID: String?
    private let keyIDNamesUser: Bool
    private let sendsNonce: Bool
    /// Whether the header is secret by its name; else the client has to be told that it is.
    private let isWellKnownSecret: Bool
    private let homelessWarning = OneWarning(
        "RequestSigningPlugin signs nothing: the client has neither a base URL nor trusted origins")

    private struct Signer: Sendable {
        let key: SigningKey
        let bodyHash: BodyHash
    }

    public var identifier: String { "com.pulse.signing" }

    /// Signs with a text as the secret.
    ///
    /// - Parameter secret: its bytes in UTF-8 are the key. To be hard to guess it takes 32 random bytes or more.
    /// - Parameter signatureHeader: takes the signature; `X-Signature-256` by default.
    /// - Parameter keyID: tells the server which of its secrets this is; it is not a secret itself, and not signed.
    ///   None by default.
    /// - Parameter keyIDNamesUser: says that the server tells users apart by the key id, as where each user or device
    ///   has a secret of its own. Then the key id is a credential, which a cache further out has not seen: it does not
    ///   store the answers, nobody shares them, and texts do not show the id. Leave it out if all users have the same
    ///   key id, or if ``TokenProvider/accountID`` tells them apart.
    /// - Parameter sendsNonce: adds 128 random bits, by which a server can tell a replayed request from a new one.
    ///   False by default.
    public init(
        secret: String, signatureHeader: String = "X-Signature-256", keyID: String? = nil,
        keyIDNamesUser: Bool = false, sendsNonce: Bool = false
    ) {
        self.init(
            secret: Data(secret.utf8), signatureHeader: signatureHeader, keyID: keyID,
            keyIDNamesUser: keyIDNamesUser, sendsNonce: sendsNonce)
    }

    /// Signs with a key of any bytes; else like
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
            else { throw PulseError.invalidRequest(reason: "no name for a signature's header: \(signatureHeader)") }
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
        // Most requests have no body or one of bytes: these are not worth an asynchronous function.
        if case .inRequest = context.body {
            let bodyHash = try signer.bodyHash.hex(of: request.httpBody)
            return try await next(signed(request, url, bodyHash: bodyHash, by: signer, for: context))
        }
        return try await next(signedBySource(request, url, by: signer, for: context))
    }

    // Not inlined: its temporaries would take room in the frame of each attempt.
    @inline(never)
    private func signedBySource(
        _ request: URLRequest, _ url: URL, by signer: Signer, for context: PluginContext
    ) async throws -> URLRequest {
        let bodyHash = try await signer.bodyHash.hex(
            of: context.body, in: request, cancellation: context.call.cancellation)
        return try signed(request, url, bodyHash: bodyHash, by: signer, for: context)
    }

    // Not inlined: its temporaries would take room in the frame of each attempt.
    @inline(never)
    private func signed(
        _ request: URLRequest, _ url: URL, bodyHash: String, by signer: Signer, for context: PluginContext
    ) throws -> URLRequest {
        let timestamp = try Self.timestamp(context.clock.now)
        let nonce = sendsNonce ? Self.nonce(context.randomness) : nil
        let text = SignedText(
            method: request.httpMethod ?? "GET", target: url.absoluteString, timestamp: timestamp, bodyHash: bodyHash,
            nonce: nonce)
        guard let text else {
            throw PulseError.invalidRequest(reason: "a method or URL with | in it cannot be signed")
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
        if context.call.environment.home.isEmpty { homelessWarning.emit(in: context) }
        return false
    }

    private static func timestamp(_ now: Date) throws -> String {
        guard let seconds = Int64(exactly: now.timeIntervalSince1970.rounded(.down)) else {
            throw PulseError.invalidRequest(reason: "the clock shows no time that a signature could tell")
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

// Bytes and files are hashed in short work, streams in a task that the call's end cancels.
extension RequestSigningPlugin: EndsWithItsCall, TellsItsHooks {}

extension RequestSigningPlugin: CustomStringConvertible, CustomReflectable {
    /// The header's name, never the secret.
    public var description: String { "RequestSigningPlugin(\(signatureHeader))" }

    public var customMirror: Mirror { Mirror(self, children: ["signatureHeader": signatureHeader]) }
}

extension PulsePlugin where Self == RequestSigningPlugin {
    /// A ``RequestSigningPlugin`` with a text as its secret:
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
