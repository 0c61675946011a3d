// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting

extension TransportConformance {
    /// The promises of every transport, with sockets or without: the meaning of requests and responses.
    public static let semantics: [Case] =
        Case.methods + Case.bodies + Case.requestHeaders + Case.largeHeads + Case.responses + Case.statuses
        + Case.redirects
        + Case.limits + Case.deliveries + Case.cancellation + Case.concurrency + Case.memory

    /// The further promises of a transport with sockets: to read every legal message, and to report each fault by its
    /// error and phase.
    public static let wire: [Case] =
        Case.framings + Case.heads + Case.codings + Case.brokenCodings + Case.oddities + Case.endlessBodies
        + Case.brokenBodies + Case.brokenHeads + Case.userInfo + Case.sending + Case.refusedUploads
        + Case.lostConnections + Case.staleConnections + Case.timeouts + Case.connecting + Case.connections
        + Case.floods + Case.streams

    /// The promises of a transport that can enforce ``PulseCore/TransportRequest/tls`` and
    /// ``PulseCore/TransportRequest/pins``. A case that requires capabilities that the transport lacks is excluded.
    public static let tls: [Case] = Case.serverTrust + Case.pins + Case.clientCertificates

    /// One promise: the behavior of a server and the required result.
    public struct Case: Sendable {
        /// The part of the list that a case belongs to.
        package enum Kind: String, Sendable, Hashable {
            /// Runs on every transport.
            case semantics
            /// Runs on transports with sockets.
            case wire
            /// Runs against its own TLS servers, on transports with sockets and the required capabilities.
            case tls
        }

        /// The server's response to each request, the same over a socket and simulated.
        typealias Responder = @Sendable (RecordedRequest) async throws -> MockServer.Response

        /// The promise as a sentence. It is unique, and exclusions refer to it.
        public let name: String
        /// The part of the list that it belongs to.
        package let kind: Kind
        let requiredCapabilities: TransportCapabilities
        let maxConnectionsPerHost: Int
        let isUnknownExclusion: Bool
        let respond: Responder
        /// Throws ``Check/Failure`` if the promise is broken.
        let verify: @Sendable (ConformanceStage) async throws -> Void

        private init(
            _ name: String, _ kind: Kind, requires: TransportCapabilities = [], connections: Int,
            isUnknownExclusion: Bool = false,
            respond: @escaping Responder, verify: @escaping @Sendable (ConformanceStage) async throws -> Void
        ) {
            self.name = name
            self.kind = kind
            requiredCapabilities = requires
            self.maxConnectionsPerHost = connections
            self.isUnknownExclusion = isUnknownExclusion
            self.respond = respond
            self.verify = verify
        }
    }
}

extension TransportConformance.Case {
    static func semantics(
        _ name: String, connections: Int = 64, respond: @escaping Responder,
        verify: @escaping @Sendable (ConformanceStage) async throws -> Void
    ) -> Self {
        Self(name, .semantics, connections: connections, respond: respond, verify: verify)
    }

    static func wire(
        _ name: String, connections: Int = 64, respond: @escaping Responder,
        verify: @escaping @Sendable (ConformanceStage) async throws -> Void
    ) -> Self {
        Self(name, .wire, connections: connections, respond: respond, verify: verify)
    }

    /// A case with its own TLS servers.
    static func tls(
        _ name: String, requires capabilities: TransportCapabilities,
        verify: @escaping @Sendable (ConformanceStage) async throws -> Void
    ) -> Self {
        Self(
            name, .tls, requires: capabilities, connections: 64, respond: { _ in .status(200) }, verify: verify)
    }

    /// A case in which a single request, a GET by default, gets `response` and fails.
    static func wire(
        _ name: String, response: @autoclosure @escaping @Sendable () -> MockServer.Response,
        method: HTTPMethod = .get, idleTimeout: TimeInterval = 60,
        fails failure: ExpectedFailure
    ) -> Self {
        wire(name) { _ in
            response()
        } verify: { stage in
            try await stage.expect(failure, of: stage.request(method, idleTimeout: idleTimeout))
        }
    }

    static func unknownExclusion(_ name: String) -> Self {
        Self(
            name, .semantics, connections: 1, isUnknownExclusion: true, respond: { _ in .status(200) },
            verify: { _ in throw Check.Failure(reason: "this exclusion names no case of the list") })
    }
}

extension TransportConformance.Case: CustomStringConvertible, Identifiable {
    /// The promise itself, which is unique.
    public var id: String { name }
    public var description: String { name }
}
