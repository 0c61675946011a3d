// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

/// Stored properties with the name of a requirement and another type.
@Suite(.throttled, .timeLimit(.minutes(15)))
struct UnusedMemberTests {
    private struct Wrong: Endpoint {
        typealias Response = EmptyResponse
        let path = "/a"
        let method = "POST"
        let queryParameters = ["page": 1]
        let queryItems = ["page"]
        let headers: HTTPHeaders = ["X-A": "1"]
        let body = "text"
        let timeoutInterval: TimeInterval? = 60
        let isQueueableWhenOffline = "yes"
        let options: RequestOptions? = nil
        let plugins: [Scoped] = []
    }

    private struct Right: Endpoint {
        typealias Response = EmptyResponse
        let path = "/a"
        let method = HTTPMethod.get
        let queryParameters: [String: String] = [:]
        let queryItems: [URLQueryItem] = []
        let headers: [String: String] = [:]
        let body = RequestBody.none
        let timeoutInterval: TimeInterval = 0
        let isQueueableWhenOffline = false
        let options = RequestOptions()
        let plugins: [any PulsePlugin] = []
        let id = 7
    }

    private struct Scoped: PulsePlugin {
        let identifier = "scoped"
        let scope = "call"
    }

    @Test
    func aWarningNamesTheMemberAndBothTypes() {
        let members = Wrong().unusedMembers
        #expect(
            members.map(\.name) == [
                "method", "queryParameters", "queryItems", "headers", "body", "timeoutInterval",
                "isQueueableWhenOffline", "options", "plugins",
            ])
        #expect(
            members.map(\.type) == [
                "String", "Dictionary<String, Int>", "Array<String>", "HTTPHeaders", "String", "Optional<Double>",
                "String", "Optional<RequestOptions>", "Array<Scoped>",
            ])
        #expect(
            members.map(\.requiredType) == [
                "HTTPMethod", "[String: String]", "[URLQueryItem]", "[String: String]", "RequestBody", "TimeInterval",
                "Bool", "RequestOptions", "[any PulsePlugin]",
            ])
        for member in members {
            #expect(member.warning.contains("Wrong.\(member.name)"))
            #expect(member.warning.contains(member.type) && member.warning.contains(member.requiredType))
        }
    }

    @Test
    func membersOfTheRightTypeAreNotReported() {
        #expect(Right().unusedMembers.isEmpty)
        #expect(Request<EmptyResponse>("/a").unusedMembers.isEmpty)
    }

    @Test
    func aScopeOfAnotherTypeIsReported() {
        #expect(Scoped().unusedMembers.map(\.name) == ["scope"])
        #expect(Scoped().unusedMembers.first?.requiredType == "PluginScope")
    }

    private class Base {
        let headers: HTTPHeaders = ["X-A": "1"]
    }

    private final class Derived: Base, Endpoint, @unchecked Sendable {
        typealias Response = EmptyResponse
        let path = "/a"
    }

    @Test
    func membersOfASuperclassAreReported() {
        #expect(Derived().unusedMembers.map(\.name) == ["headers"])
    }

    /// An app's protocol may implement the requirement with the property of the same name.
    @Test
    func aPropertyUsedByAnExtensionIsNotReported() {
        #expect(NewUser(body: ["name": "Ada"]).unusedMembers.isEmpty)
    }
}

private protocol Posting: Endpoint {
    associatedtype Payload: Encodable & Sendable
    var body: Payload { get }
}

extension Posting {
    var body: RequestBody { .json(self.body as Payload) }
}

private struct NewUser: Posting {
    typealias Response = EmptyResponse
    let path = "/users"
    let body: [String: String]
}
