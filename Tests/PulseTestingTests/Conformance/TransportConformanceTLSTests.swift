// SPDX-License-Identifier: MIT

#if os(Linux)
import PulseConformance
import PulseCore
import PulseNetworking
import PulseTesting
import TestSupport
import Testing

/// The list's part for TLS must detect defects, too.
@Suite(.tags(.threads), .throttled)
struct TransportConformanceTLSTests {
    @Test(.serialized, arguments: Defect.ofTLS)
    func noticesATransportThat(_ defect: Defect) async throws {
        let conformance = TransportConformance("Faulty", timeLimit: 60) { _ in
            FaultyTransport(base: SocketTransport(), fault: defect.fault)
        }
        for name in defect.noticedBy {
            let promise = try #require(TransportConformance.tls.first { $0.name.hasPrefix(name) }, "\(name)")
            let failure = await #expect(throws: TransportConformance.Failure.self, "\(name)") {
                try await conformance.run(promise)
            }
            #expect(failure?.reason.contains("unexpected error") == false, "\(name): \(failure?.reason ?? "")")
        }
    }

    @Test func aDefectOfEveryCaseIsKnown() {
        let names = Defect.ofTLS.flatMap(\.noticedBy)
        for promise in TransportConformance.tls {
            #expect(names.contains { promise.name.hasPrefix($0) }, "\(promise)")
        }
    }

    @Test func aTransportIsShutDownIfItsServerCannotStart() async throws {
        struct Counting: Transport {
            let shutdowns: Locked<Int>

            func send(_ request: TransportRequest) async throws -> PulseResponse { throw PulseError.noConnection }
            func shutdown() async { shutdowns.withLock { $0 += 1 } }
        }
        let shutdowns = Locked(0)
        let nothing = MockServer.TLSIdentity(certificates: Data(), key: Data())
        let conformance = TransportConformance("Counting", tls: nothing) { _ in Counting(shutdowns: shutdowns) }
        let promise = try #require(conformance.cases.first)
        await #expect(throws: TransportConformance.Failure.self) { try await conformance.run(promise) }
        #expect(shutdowns.withLock { $0 } == 1)
    }

    @Test func aCaseThatATransportHasNoCapabilitiesForIsExcluded() async throws {
        struct Plain: Transport {
            let capabilities: TransportCapabilities

            func send(_ request: TransportRequest) async throws -> PulseResponse { throw PulseError.noConnection }
        }
        for (capabilities, excluded) in [([], 15), (.tls, 6), ([.tls, .pinning], 0)] as [(TransportCapabilities, Int)] {
            let conformance = TransportConformance("Plain") { _ in Plain(capabilities: capabilities) }
            var count = 0
            for promise in TransportConformance.tls {
                if case .excluded? = try? await conformance.run(promise) { count += 1 }
            }
            #expect(count == excluded)
        }
    }
}
#endif
