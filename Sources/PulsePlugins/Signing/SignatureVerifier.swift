// SPDX-License-Identifier: MIT

public import PulseCore
import PulsePlatform

/// Verifies requests signed by a ``RequestSigningPlugin``: for servers, and for tests.
///
/// ```swift
/// let verifier = SignatureVerifier(secret: secret, rejectsReplays: true)
/// let verdict = verifier.verdict(method: .post, target: "/transfers", headers: headers, body: body)
/// guard verdict.isAccepted else { return .status(401) }
/// ```
///
/// Signatures are compared in constant time. A request is rejected if its timestamp differs from the clock by more than
/// the tolerance, in either direction. Without nonces a request can be replayed within that time: use TLS, and
/// `rejectsReplays` where a replay does harm. Then one verifier, or its copies, must see all requests: it knows only
/// the nonces that it has accepted itself.
///
/// Safe from any thread.
public struct SignatureVerifier: Sendable {
    private let keys: Keys
    private let signatureHeader: String
    private let tolerance: TimeInterval
    private let clock: any PulseClock
    private let nonces: Locked<NonceMemory>?

    private enum Keys: Sendable {
        case one(SigningKey)
        case byID([String: SigningKey])

        /// The usable keys: none without hash functions.
        init(byID secrets: [String: Data]) {
            self = .byID(secrets.compactMapValues { try? SigningKey(secret: $0, hashes: SystemHashes.library) })
        }

        init(_ secret: Data) {
            let key = try? SigningKey(secret: secret, hashes: SystemHashes.library)
            self = key.map { .one($0) } ?? .byID([:])
        }
    }

    /// Creates a verifier for one secret, whatever key id a request has.
    ///
    /// - Parameter secret: its UTF-8 bytes are the key. With an empty secret, nothing is accepted.
    /// - Parameter signatureHeader: the header with the signature; `X-Signature-256` by default.
    /// - Parameter tolerance: in seconds, 5 minutes by default; with NaN or a negative number, nothing is accepted.
    /// - Parameter rejectsReplays: requires nonces, and accepts each once within the tolerance. False by default.
    /// - Parameter nonceCapacity: the maximum number of nonces stored, 100,000 by default. More requests within the
    ///   tolerance shorten the window, so a client with a key can shut out others.
    public init(
        secret: String, signatureHeader: String = "X-Signature-256", tolerance: TimeInterval = 300,
        rejectsReplays: Bool = false, nonceCapacity: Int = 100_000, clock: any PulseClock = SystemClock()
    ) {
        self.init(
            secret: Data(secret.utf8), signatureHeader: signatureHeader, tolerance: tolerance,
            rejectsReplays: rejectsReplays, nonceCapacity: nonceCapacity, clock: clock)
    }

    /// Creates a verifier for one secret of any bytes.
    public init(
        secret: Data, signatureHeader: String = "X-Signature-256", tolerance: TimeInterval = 300,
        rejectsReplays: Bool = false, nonceCapacity: Int = 100_000, clock: any PulseClock = SystemClock()
    ) {
        self.init(
            keys: Keys(secret), signatureHeader: signatureHeader, tolerance: tolerance,
            rejectsReplays: rejectsReplays, nonceCapacity: nonceCapacity, clock: clock)
    }

    /// Creates a verifier that selects the secret by the key id of each request. This allows secrets to be rotated, or
    /// each client to have its own. An empty secret accepts nothing.
    public init(
        secrets: [String: Data], signatureHeader: String = "X-Signature-256", tolerance: TimeInterval = 300,
        rejectsReplays: Bool = false, nonceCapacity: Int = 100_000, clock: any PulseClock = SystemClock()
    ) {
        self.init(
            keys: Keys(byID: secrets), signatureHeader: signatureHeader, tolerance: tolerance,
            rejectsReplays: rejectsReplays, nonceCapacity: nonceCapacity, clock: clock)
    }

    private init(
        keys: Keys, signatureHeader: String, tolerance: TimeInterval, rejectsReplays: Bool, nonceCapacity: Int,
        clock: any PulseClock
    ) {
        self.keys = keys
        self.signatureHeader = signatureHeader
        self.tolerance = tolerance
        self.clock = clock
        nonces = rejectsReplays ? Locked(NonceMemory(capacity: nonceCapacity)) : nil
    }

    /// Verifies a request as a server received it.
    ///
    /// - Parameter target: the request target as received, percent-encoded and with its query. A server that decodes or
    ///   normalizes it verifies another request.
    /// - Parameter body: the bytes as received, before any content coding is removed.
    public func verdict(method: HTTPMethod, target: String, headers: HTTPHeaders, body: Data) -> Verdict {
        guard let signature = headers[signatureHeader], let timestamp = headers[SignatureHeaders.timestamp] else {
            return .refused(.missing)
        }
        let nonce = headers[SignatureHeaders.nonce]
        // Clients send no fragment, and the signature does not cover one.
        guard let code = SHA256Hash(hex: signature), let seconds = Self.seconds(timestamp),
            nonce.map(Self.isNonce) ?? true, headers.values(for: SignatureHeaders.keyID).count <= 1,
            !target.utf8.contains(UInt8(ascii: "#"))
        else { return .refused(.malformed) }
        // Whole seconds, as in the timestamp. The comparisons reject NaN.
        let now = clock.now.timeIntervalSince1970.rounded(.down)
        guard now - Double(seconds) <= tolerance else { return .refused(.tooOld) }
        guard Double(seconds) - now <= tolerance else { return .refused(.tooNew) }
        guard let key = key(for: headers), let bodyHash = key.hashes.sha256(body)?.hex else {
            return .refused(.unknownKey)
        }
        let text = SignedText(
            method: method.rawValue, target: target, timestamp: timestamp, bodyHash: bodyHash, nonce: nonce)
        guard let text else { return .refused(.malformed) }
        guard key.isSignature(code, of: text) else { return .refused(.mismatch) }
        return admission(nonce, seconds, now)
    }

    /// Verifies a request as a client sent it and a mock transport received it. Only its `httpBody` counts as the body:
    /// a file or a stream is not part of the request.
    public func verdict(on request: URLRequest) -> Verdict {
        guard let url = request.url, let method = HTTPMethod(rawValue: request.httpMethod ?? "GET") else {
            return .refused(.malformed)
        }
        let target = url.absoluteString.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)[0]
        return verdict(
            method: method, target: String(target), headers: HTTPHeaders(request.allHTTPHeaderFields ?? [:]),
            body: request.httpBody ?? Data())
    }

    private func key(for headers: HTTPHeaders) -> SigningKey? {
        switch keys {
        case .one(let key): key
        case .byID(let keys): headers[SignatureHeaders.keyID].flatMap { keys[$0] }
        }
    }

    private func admission(_ nonce: String?, _ seconds: Int64, _ now: TimeInterval) -> Verdict {
        guard let nonces else { return .accepted }
        guard let nonce else { return .refused(.missing) }
        let oldest = Int64(exactly: (now - tolerance).rounded(.up)) ?? .min
        switch nonces.withLock({ $0.admit(nonce, timestamp: seconds, oldest: oldest) }) {
        case .new: return .accepted
        case .replayed: return .refused(.replayed)
        case .evicted: return .refused(.tooOld)
        }
    }

    /// The number in a string of digits, if a `Double` can represent it.
    private static func seconds(_ text: String) -> Int64? {
        guard (1...15).contains(text.utf8.count), text.utf8.allSatisfy(\.isASCIIDigit) else { return nil }
        return Int64(text)
    }

    private static func isNonce(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count) && text.isHTTPToken && !text.utf8.contains(UInt8(ascii: "|"))
    }
}

extension SignatureVerifier: CustomStringConvertible, CustomReflectable {
    /// The header's name, never a secret.
    public var description: String { "SignatureVerifier(\(signatureHeader))" }

    public var customMirror: Mirror { Mirror(self, children: ["signatureHeader": signatureHeader]) }
}
