// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

/// Stored properties with the name of a requirement and another type.
@Suite(.throttled)
struct MistypedRequirementTests {
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
        let members = Wrong().mistypedRequirements
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

    private struct Misnamed: Endpoint {
        typealias Response = EmptyResponse
        let path = "/a"
        let timeout = 1
        let query = ["a": "b"]
        let verb = "POST"
        let header = ["X-A": "1"]
        let requestBody = Data()
        let url = URL(string: "https://h.example/b")
        let decoder = JSONResponseDecoder()
        let encoder = JSONRequestEncoder()
        let isQueueable = true
        let retryPolicy = RetryPolicy.never
        let cachePolicy = RequestOptions.Cache.reload
        let deadline: TimeInterval? = 9
        let parameters = ["c": 1]
    }

    @Test
    func aWarningNamesTheRequirementThatALikelyNameMeans() {
        let members = Misnamed().mistypedRequirements
        let rights = Dictionary(members.map { ($0.name, $0.requiredType) }) { first, _ in first }
        #expect(
            rights == [
                "timeout": "timeoutInterval, in seconds", "query": "queryParameters or queryItems",
                "verb": "method, an HTTPMethod", "header": "headers", "requestBody": "body, a RequestBody",
                "url": "path, which may be an absolute URL", "decoder": "options.decoder",
                "encoder": "options.encoder", "isQueueable": "isQueueableWhenOffline", "retryPolicy": "options.retry",
                "cachePolicy": "options.cache", "deadline": "options.deadline, in seconds",
                "parameters": "queryParameters, queryItems or body",
            ])
        for member in members {
            #expect(member.warning.contains("Misnamed.\(member.name)") && member.warning.contains(member.requiredType))
        }
    }

    @Test
    func theThreeMistakesOfAPlainGetAreAllReported() {
        struct Plain: Endpoint {
            typealias Response = EmptyResponse
            let path = "/a"
            let timeout = 1
            let query = ["a": "b"]
            let method = "POST"
        }
        #expect(Plain().mistypedRequirements.map(\.name) == ["timeout", "query", "method"])
    }

    /// Data of an endpoint's own may have any of the names.
    private struct Own: Endpoint {
        typealias Response = EmptyResponse
        let timeout: TimeInterval = 5
        let query = ["a": "b"]
        let verb = HTTPMethod.put
        let header = "X-A"
        let requestBody = "text"
        let url = URL(fileURLWithPath: "/b")
        let baseURL = "https://h.example"
        let isQueueable = false
        let deadline: TimeInterval? = nil
        let params: [String: String] = [:]

        var path: String { "\(baseURL)/a" }
        var timeoutInterval: TimeInterval { timeout }
        var queryParameters: [String: String] { query }
        var method: HTTPMethod { verb }
        var body: RequestBody { .text(requestBody) }
    }

    @Test
    func likelyNamesThatTheEndpointUsesItselfAreNotReported() {
        #expect(Own().mistypedRequirements.isEmpty)
    }

    @Test
    func membersOfTheRightTypeAreNotReported() {
        #expect(Right().mistypedRequirements.isEmpty)
        #expect(Request<EmptyResponse>("/a").mistypedRequirements.isEmpty)
    }

    @Test
    func aScopeOfAnotherTypeIsReported() {
        #expect(Scoped().mistypedRequirements.map(\.name) == ["scope"])
        #expect(Scoped().mistypedRequirements.first?.requiredType == "PluginScope")
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
        #expect(Derived().mistypedRequirements.map(\.name) == ["headers"])
    }

    /// An app's protocol may implement the requirement with the property of the same name.
    @Test
    func aPropertyUsedByAnExtensionIsNotReported() {
        #expect(NewUser(body: ["name": "Ada"]).mistypedRequirements.isEmpty)
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
