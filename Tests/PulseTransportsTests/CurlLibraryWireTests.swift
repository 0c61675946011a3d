// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseCore
import PulseTesting
import TestSupport
import Testing

@testable import PulseTransports

/// Features of later libcurl versions have a fallback.
@Suite(.tags(.threads, .addresses), .serialized, .throttled, .timeLimit(.minutes(15)))
struct CurlLibraryWireTests {
    private static let unchecked =
        "the connection is looked at by a function of 7.80; the real libcurl of that time looked by itself"

    static let oldest = TransportConformance(
        "CurlTransport as of libcurl 7.68",
        exclusions: [
            "bytes beyond the Content-Length are not part of a response": unchecked,
            "unsolicited bytes from a server are no response to a request": unchecked,
        ], timeLimit: 60
    ) { connections in
        CurlTransport(connections, library: .pretending(0x074400))
    }

    @Test(.serialized, arguments: oldest.cases)
    func theOldestSupportedLibcurlPasses(_ promise: TransportConformance.Case) async throws {
        if case .excluded(let reason) = try await Self.oldest.run(promise) {
            withKnownIssue("excluded: \(reason)") { Issue.record("not run") }
        }
    }

    @Test(
        arguments: [
            (0x074400, false, []), (0x074700, false, []), (0x074D00, false, [.tls]),
            (0x075000, true, [.tls, .pinning]), (0x075801, true, [.tls, .pinning]),
        ] as [(UInt32, Bool, TransportCapabilities)])
    func capabilitiesMatchTheLibcurlVersion(version: UInt32, hasPrerequest: Bool, capabilities: TransportCapabilities)
        throws
    {
        let library = try #require(CurlLibrary.pretending(version))
        #expect(library.hasPrerequest == hasPrerequest)
        #expect(library.capabilities == capabilities.union([.proxy, .httpVersions]))
        let other = try #require(CurlLibrary.pretending(version, readsVerifiedChain: false))
        #expect(!other.capabilities.contains(.pinning))
    }

    @Test func withoutLibcurlEveryRequestIsUnsupported() async throws {
        let transport = CurlTransport(4, library: nil)
        #expect(transport.capabilities == [])
        let url = try #require(URL(string: "http://127.0.0.1/"))
        await #expect {
            try await transport.send(TransportRequest(urlRequest: URLRequest(url: url)))
        } throws: {
            PulseError(wrapping: $0).kind == .unsupported
        }
    }

    @Test func withoutLibcurlClientsFallBackAndWarnOnce() {
        let configuration = PulseConfiguration()
        let isReported = Locked(false)
        let sinks = [false, true, true].map { WarningSink(isActive: $0) }
        for sink in sinks {
            let fallback = StandardTransport(configuration, library: nil)
            #expect(fallback.base is URLSessionTransport)
            fallback.warn(sink, isReported: isReported)
        }
        #expect(sinks.map(\.warnings) == [[], [StandardTransport.fallbackWarning], []])
    }

    @Test func withLibcurlThereIsNoWarning() {
        let standard = StandardTransport(PulseConfiguration())
        #expect(standard.base is HTTP1Transport)
        let sink = WarningSink(isActive: true)
        standard.warn(sink, isReported: Locked(false))
        #expect(sink.warnings == [])
    }

    private final class WarningSink: EventSink {
        let isActive: Bool
        private let told = Locked<[String]>([])

        init(isActive: Bool) {
            self.isActive = isActive
        }

        var warnings: [String] { told.withLock { $0 } }

        func emit(_ event: NetworkEvent) {
            if case .warning(let text) = event { told.withLock { $0.append(text) } }
        }
    }

    @Test(arguments: [6, 7] as [UInt64])
    func everyCallEndsOnceWithTheOldestSupportedLibcurl(seed: UInt64) async throws {
        try await CurlSchedule(
            seed: seed, calls: 500, library: .pretending(0x074400)
        ).play()
    }
}
#endif
