// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import PulseCore
import PulseTesting
import Testing

@testable import PulseNetworking

extension CurlLibrary {
    /// The loaded libcurl, taken for an earlier one.
    static func pretending(_ version: UInt32, readsVerifiedChain: Bool = true) -> CurlLibrary? {
        system.map {
            CurlLibrary(version: version, features: $0.features, readsVerifiedChain: readsVerifiedChain)
        }
    }
}

/// What a later libcurl brought has an answer for the case that it is missing.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct CurlLibraryWireTests {
    private static let unchecked =
        "the connection is looked at by a function of 7.80; the real libcurl of that time looked by itself"

    static let oldest = TransportConformance(
        "CurlTransport as of libcurl 7.68",
        exclusions: [
            "bytes beyond the Content-Length belong to no answer": unchecked,
            "what a server sends unasked answers no request": unchecked,
        ], timeLimit: 60
    ) { connections in
        CurlTransport(connections, library: .pretending(0x074400))
    }

    @Test(.serialized, arguments: oldest.cases)
    func keepsAsTheOldest(_ promise: TransportConformance.Case) async throws {
        if case .excluded(let reason) = try await Self.oldest.run(promise) {
            withKnownIssue("excluded: \(reason)") { Issue.record("not run") }
        }
    }

    @Test(
        arguments: [
            (0x074400, false, [.proxy]), (0x074700, false, [.proxy]), (0x074D00, false, [.proxy, .tls]),
            (0x075000, true, [.proxy, .tls, .pinning]), (0x075801, true, [.proxy, .tls, .pinning]),
        ] as [(UInt32, Bool, TransportCapabilities)])
    func tellsWhatItCanEnforce(version: UInt32, hasPrerequest: Bool, capabilities: TransportCapabilities) throws {
        let library = try #require(CurlLibrary.pretending(version))
        #expect(library.hasPrerequest == hasPrerequest)
        #expect(library.capabilities == capabilities)
        let other = try #require(CurlLibrary.pretending(version, readsVerifiedChain: false))
        #expect(!other.capabilities.contains(.pinning))
    }

    @Test func withoutALibraryEveryRequestIsRefused() async throws {
        let transport = CurlTransport(4, library: nil)
        #expect(transport.capabilities == [])
        let url = try #require(URL(string: "http://127.0.0.1/"))
        await #expect {
            try await transport.send(TransportRequest(urlRequest: URLRequest(url: url)))
        } throws: {
            PulseError(wrapping: $0).kind == .unsupported
        }
    }

    @Test func withoutALibraryClientsFallBackAndTellOnce() {
        let configuration = PulseConfiguration()
        let choices = (0..<3).map { _ in StandardTransport(configuration, library: nil) }
        #expect(choices.allSatisfy { $0.transport is URLSessionTransport })
        #expect(choices.flatMap(\.problems) == [StandardTransport.fallbackWarning])
        let standard = StandardTransport(configuration)
        #expect(standard.transport is CurlTransport)
        #expect(standard.problems == [])
    }

    @Test(arguments: [6, 7] as [UInt64])
    func everyCallEndsOnceWithTheOldestToo(seed: UInt64) async throws {
        try await CurlSchedule(seed: seed, calls: 500, library: .pretending(0x074400)).play()
    }
}
#endif
