// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct PulseConfigurationTests {
    @Test
    func defaultsAreTheDocumentedOnes() throws {
        let base = try url("https://api.example.com")
        let configuration = PulseConfiguration(baseURL: base)
        #expect(configuration.baseURL == base)
        #expect(PulseConfiguration().baseURL == nil)
        #expect(configuration.timeout == 30)
        #expect(configuration.connectTimeout == 10)
        #expect(configuration.poolTimeout == 60)
        #expect(configuration.deadline == nil)
        #expect(configuration.defaultHeaders.isEmpty)
        #expect(configuration.defaultQueryItems.isEmpty)
        #expect(configuration.retryPolicy.maxAttempts == 3)
        #expect(configuration.offlineQueuePolicy == .disabled)
        #expect(configuration.sslPinningPolicy == .disabled)
        #expect(configuration.trustedOrigins.isEmpty)
        #expect(configuration.secretHeaders.isEmpty)
        #expect(configuration.logLevel == .none)
        #expect(configuration.encoder is JSONRequestEncoder)
        #expect(configuration.decoder is JSONResponseDecoder)
        #expect(configuration.maxBufferedBodySize == 134_217_728)
        #if canImport(Darwin)
        #expect(configuration.maxConnectionsPerHost == 6)
        #else
        #expect(configuration.maxConnectionsPerHost == 64)
        #endif
        #expect(configuration.tls == .default)
        #expect(configuration.proxy == .environment)
        #expect(configuration.cookieStore == nil)
        #expect(configuration.connectivity == nil)
        #expect(configuration.clock is SystemClock)
        #expect(configuration.randomness is SystemRandomness)
        let redirect = PulseResponse(
            statusCode: 302, headers: ["Location": "/x"], request: try request(.get, "https://api.example.com"))
        guard case .follow = configuration.redirectPolicy.decision(for: redirect, hop: 9, isBodyReplayable: true) else {
            Issue.record("the default follows ten hops")
            return
        }
    }

    @Test
    func everySettingHasADefaultTest() {
        // A new setting needs a default in the test above, and a line here.
        #expect(
            Mirror(reflecting: PulseConfiguration()).children.compactMap(\.label).sorted() == [
                "baseURL", "clock", "connectTimeout", "connectivity", "cookieStore", "deadline", "decoder",
                "defaultHeaders", "defaultQueryItems",
                "encoder", "logLevel", "maxBufferedBodySize", "maxConnectionsPerHost", "offlineQueuePolicy",
                "poolTimeout", "proxy",
                "randomness", "redirectPolicy", "retryPolicy", "secretHeaders", "sslPinningPolicy", "timeout", "tls",
                "trustedOrigins",
            ])
    }

    @Test
    func anOfflineQueuePolicyHasTheDocumentedDefaults() {
        let policy = OfflineQueuePolicy()
        #expect(policy.isEnabled && policy.persistsToDisk)
        #expect(policy.maxQueueSize == 100)
        #expect(policy.requestExpiry == 86400)
        #expect(policy.maxAttempts == 20)
        #expect(policy.directory == nil)
        #expect(!OfflineQueuePolicy.disabled.isEnabled)
    }

    @Test
    func logLevelsAreOrdered() {
        let levels: [PulseConfiguration.LogLevel] = [.none, .error, .warning, .info, .debug]
        #expect(levels.sorted() == levels)
    }

    @Test
    func withChangesOneSettingAtATime() throws {
        let base = try url("https://api.example.com")
        let directory = URL(fileURLWithPath: "/tmp/queue")
        let original = PulseConfiguration(baseURL: base)
        // The README's notation.
        let config =
            original
            .with(\.timeout, value: 20)
            .with(\.logLevel, value: .info)
            .with(\.defaultHeaders, value: ["X-App-Version": "1.2"])
            .with(\.decoder, value: .json { $0.keyDecodingStrategy = .convertFromSnakeCase })
            .with(\.encoder, value: .json { $0.keyEncodingStrategy = .convertToSnakeCase })
            .with(
                \.retryPolicy,
                value: RetryPolicy(
                    maxAttempts: 3, backoffStrategy: .immediate,
                    retryableStatusCodes: [503], retryOnTimeout: false, retryOnNoConnection: false)
            )
            .with(
                \.offlineQueuePolicy,
                value: OfflineQueuePolicy(
                    isEnabled: true, maxQueueSize: 100,
                    persistsToDisk: true, requestExpiry: 86400, directory: directory)
            )
            .with(\.sslPinningPolicy, value: .publicKeyHashes(["sha256/…", "sha256/…"]))
            .with(\.deadline, value: 60)
            .with(\.deadline, value: nil)
        #expect(config.timeout == 20)
        #expect(config.logLevel == .info)
        #expect(config.defaultHeaders == ["X-App-Version": "1.2"])
        #expect(config.retryPolicy.retryableStatusCodes == [503])
        #expect(config.offlineQueuePolicy.directory == directory)
        #expect(config.sslPinningPolicy.publicKeyHashes.count == 2)
        #expect(config.deadline == nil)
        #expect(config.connectTimeout == 10)
        #expect(original.timeout == 30)
        struct Snake: Codable { let userID: Int }
        let data = Data(#"{"user_id":1}"#.utf8)
        #expect(throws: (any Error).self) { try config.decoder.decode(Snake.self, from: Data("[]".utf8)) }
        #expect(try config.decoder.decode([String: Int].self, from: data) == ["user_id": 1])
        #expect(String(decoding: try config.encoder.encode(Snake(userID: 1)), as: UTF8.self) == #"{"user_id":1}"#)
    }
}
