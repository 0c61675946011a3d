// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting
import Reporting

/// The plugins of the recommended chain, each by itself and all together, in a call that succeeds at once: a GET, or a
/// POST for plugins that skip a GET.
enum Plugins {
    /// A call through a plugin, and the work that it cannot avoid.
    struct Subject: Sendable {
        enum Method: Sendable { case get, post }

        let call: Measurement
        /// A call without plugins, and the plugin's essential work by hand: writes fields of the same length, decodes a
        /// body, takes random numbers, signs.
        let essential: Measurement
        /// The limit of what the call takes beyond that, as a part of a bare call.
        let limit: Double

        init(
            _ name: String, _ plugin: any PulsePlugin, of method: Method = .get,
            writing fields: [(name: String, length: Int)] = [], _ work: [Measurement] = [],
            limit: Double = Promise.pluginBeyondItsWork
        ) throws {
            self.limit = limit
            let bare: Measurement
            switch method {
            case .get:
                bare = try Workload.calls("bare call")
                call = try Workload.calls(name, plugins: [plugin])
            case .post:
                bare = try Workload.calls("bare POST", to: Workload.AddUser())
                call = try Workload.calls(name, to: Workload.AddUser(), plugins: [plugin])
            }
            let work = work + (fields.isEmpty ? [] : [try Plugins.writing(fields, of: method)])
            essential = work.isEmpty ? bare : Measurement("essential work of " + name, of: [bare] + work)
        }
    }

    private static let secret = "0123456789abcdef0123456789abcdef"

    /// Makes a new recommended chain, outermost first.
    private static var chain: [any PulsePlugin] {
        [
            AuthPlugin { "token" }, HeadersPlugin(["X-App-Version": "1.2"]), IdempotencyPlugin(), CompressionPlugin(),
            CoalescingPlugin(), CachePlugin(ttl: 300, maxMemoryItems: 200), HedgingPlugin(), CircuitBreakerPlugin(),
            RateLimitPlugin(by: .origin), ConcurrencyLimitPlugin(limit: 64), validator, TracingPlugin(),
            RequestSigningPlugin(secret: secret), logger(.minimal),
        ]
    }

    private static var validator: ValidatorPlugin {
        ValidatorPlugin([Validator { _, _, _ in .accept }])
    }

    private static func logger(_ verbosity: LoggerPlugin.Verbosity) -> LoggerPlugin {
        LoggerPlugin(options: LoggerPlugin.Options(verbosity: verbosity, output: { keep($0) }))
    }

    static func subjects() throws -> [Subject] {
        [
            try Subject("auth", AuthPlugin { "token" }, writing: [("Authorization", 12)]),
            try Subject("headers", HeadersPlugin(["X-App-Version": "1.2"]), writing: [("X-App-Version", 3)]),
            try Subject("idempotency", IdempotencyPlugin()),
            try Subject(
                "idempotency of a POST", IdempotencyPlugin(), of: .post, writing: [("Idempotency-Key", 36)], [uuid]),
            try Subject("compression", CompressionPlugin()),
            try Subject("compression of a short POST", CompressionPlugin(), of: .post),
            try Subject("coalescing", CoalescingPlugin(), limit: Promise.coalescing),
            try Subject("hedging", HedgingPlugin()),
            try Subject("circuit breaker", CircuitBreakerPlugin()),
            try Subject("rate limit", RateLimitPlugin(by: .origin)),
            try Subject("concurrency limit", ConcurrencyLimitPlugin(limit: 64)),
            try Subject("validator", validator),
            try Subject("validator of bodies", ValidatorPlugin([.errorBody(Fault.self) { $0.fault }]), [decoding]),
            try Subject(
                "tracing", TracingPlugin(), writing: [("traceparent", 55)], Array(repeating: randomBits, count: 3)),
            try Subject(
                "signing", RequestSigningPlugin(secret: secret),
                writing: [("X-Pulse-Timestamp", 10), ("X-Signature-256", 64)], [signature]),
            try Subject("logger, silent", logger(.none)),
        ]
    }

    /// An error of an old API inside a 200; there is none here.
    private struct Fault: Decodable, Error {
        let code: Int?

        var fault: Fault? { code == nil ? nil : self }
    }

    /// Measurements with their own limits.
    static func others() throws -> [Measurement] {
        [
            try Workload.calls("logger, one line a call", plugins: [logger(.minimal)]),
            // Every call passes the whole chain: the cache looks for a response, and stores none.
            try Workload.calls("recommended chain", plugins: chain, cacheControl: "no-store"),
        ]
    }

    private static let randomBits = Measurement("64 random bits") { times in
        for _ in 0..<times { keep(SystemRandomness().next()) }
    }

    private static let uuid = Measurement("text of a UUID") { times in
        for _ in 0..<times {
            var random = (SystemRandomness().next(), SystemRandomness().next())
            keep(withUnsafeBytes(of: &random) { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)).uuidString })
        }
    }

    private static let decoding = Measurement("decode the body") { times in
        for _ in 0..<times { keep(try JSONDecoder().decode(Fault.self, from: Workload.json)) }
    }

    /// The HMAC and the hash of an empty body, as the server computes them.
    private static var signature: Measurement {
        let verifier = SignatureVerifier(secret: secret, clock: TestClock())
        let signed: HTTPHeaders = [
            "X-Pulse-Timestamp": "\(Int(TestClock().now.timeIntervalSince1970))",
            "X-Signature-256": String(repeating: "0", count: 64),
        ]
        return Measurement("verify a signature") { times in
            for _ in 0..<times {
                keep(verifier.verdict(method: .get, target: "/users/42", headers: signed, body: Data()))
            }
        }
    }

    /// Writes fields into a copy of a plugin's request: all at once, since `setValue` checks each character on Linux.
    private static func writing(
        _ fields: [(name: String, length: Int)], of method: Subject.Method
    ) throws -> Measurement {
        guard let url = URL(string: "https://api.example.com/users/42") else { throw URLError(.badURL) }
        var request = URLRequest(url: url)
        // A copy of a request sets its method again, which is slower in Foundation for methods other than GET.
        if method == .post { request.httpMethod = "POST" }
        request.allHTTPHeaderFields = ["Accept": "application/json", "User-Agent": "pulse-benchmarks"]
        let (plain, fields) = (request, fields.map { ($0.name, String(repeating: "0", count: $0.length)) })
        return Measurement("write the fields") { times in
            for _ in 0..<times {
                var request = plain
                var all = request.allHTTPHeaderFields ?? [:]
                for (name, value) in fields { all[name] = value }
                request.allHTTPHeaderFields = all
                keep(request)
            }
        }
    }
}
