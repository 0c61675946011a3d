// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled, .timeLimit(.minutes(15)))
struct PathTextTests {
    @Test
    func eachInterpolationIsOneEncodedSegment() throws {
        let (id, name) = (7, "a/b?c#d ;é")
        #expect(try String(path: "/users/\(id)/repos/\(name)") == "/users/7/repos/a%2Fb%3Fc%23d%20%3B%C3%A9")
        let uuid = UUID()
        #expect(try String(path: "/files/file-\(uuid).json") == "/files/file-\(uuid).json")
        #expect(try String(path: "/search?q=\("a&b=c")") == "/search?q=a%26b%3Dc")
        #expect(try String(path: "/plain/%20/{x}") == "/plain/%20/{x}")
        #expect(try String(path: "/\(true)/\(1.5)/\(Substring("s"))") == "/true/1.5/s")
    }

    /// Both forms follow the same rules.
    @Test(arguments: ["a", "a/b", "..", ".", "", "%2e%2e", "a b", "\u{301}", "?", "."])
    func aPathTextAcceptsAndRefusesTheSameValuesAsATemplate(value: String) {
        let text = Result { try String(path: "/a/\(value)/b") }
        let template = Result { try PathTemplate("/a/{x}/b").expand(["x": value]) }
        #expect((try? text.get()) == (try? template.get()))
        #expect(text.failureKind == template.failureKind)
    }

    @Test(arguments: ["", ".", ".."])
    func anErrorNamesThePositionAndNeverTheValue(value: String) {
        let error = #expect(throws: PulseError.self) { try String(path: "/a/\("t0p-s3cret")/\(value)/b?c=\("t0p")") }
        #expect(error?.kind == .invalidRequest)
        let text = error.map { "\($0)" } ?? ""
        #expect(text.contains("/a/{1}/{2}/b"))
        #expect(!text.contains("t0p"))
    }

    @Test
    func valuesThatTogetherMakeADotSegmentAreRefused() {
        let dot = "."
        #expect(throws: PulseError.self) { try String(path: "/a/\(dot)\(dot)/b") }
        #expect(throws: PulseError.self) { try String(path: "/a/.\(dot)") }
        // After the question mark it is not a segment.
        #expect((try? String(path: "/a?b=/\(dot)\(dot)/")) == "/a?b=/../")
    }

    @Test
    func anEndpointsPathFollowsTheSameRules() throws {
        struct GetRepo: Endpoint {
            typealias Response = EmptyResponse
            let (id, name): (Int, String)
            var path: String { get throws { try String(path: "/users/\(id)/repos/\(name)") } }
        }
        #expect(try GetRepo(id: 7, name: "a/b").path == "/users/7/repos/a%2Fb")
        #expect(throws: PulseError.self) { try GetRepo(id: 7, name: "..").path }
    }
}

extension Result where Success == String, Failure == any Error {
    fileprivate var failureKind: PulseError.Kind? {
        guard case .failure(let error) = self else { return nil }
        return (error as? PulseError)?.kind
    }
}
