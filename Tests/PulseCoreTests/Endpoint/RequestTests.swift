// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct RequestTests {
    private struct User: Codable, Sendable {
        let id: Int
    }

    private struct Named: PulsePlugin {
        let identifier: String
    }

    @Test
    func aRequestIsAGETOfItsPathByDefault() throws {
        let request = Request<User>("/users")
        #expect(try request.path.text == "/users")
        #expect(request.method == .get)
        #expect(request.headers.isEmpty && request.queryItems.isEmpty && request.plugins.isEmpty)
        #expect(request.options.setFields == ["route"])
        #expect(request.timeoutInterval == 0)
        #expect(!request.isQueueableWhenOffline)
    }

    @Test
    func theFluentMethodsCoverEveryRequirementOfAnEndpoint() throws {
        let id = UUID()
        let request = Request<User>(.put, "/users/{id}/posts/{n}", path: ["id": id, "n": 7])
            .query("expand", "team").query("page", 2).query("nothing", String?.none)
            .query([URLQueryItem(name: "expand", value: "posts")])
            .header("X-A", "1").header("x-a", "2")
            .body(.json(["a": 1, "b": "x"]))
            .timeout(5)
            .option(\.tag, "feed").option(\.deadline, 9)
            .queueableWhenOffline()
            .plugin(Named(identifier: "one")).plugin(Named(identifier: "two"))
        #expect(try request.path.text == "/users/\(id)/posts/7")
        #expect(request.method == .put)
        #expect(
            request.queryItems == [
                URLQueryItem(name: "expand", value: "team"), URLQueryItem(name: "page", value: "2"),
                URLQueryItem(name: "expand", value: "posts"),
            ])
        #expect(request.headers == ["x-a": "2"])
        #expect(request.options.timeout == 5)
        #expect(request.options.tag == "feed")
        #expect(request.options.deadline == 9)
        #expect(request.isQueueableWhenOffline)
        #expect(request.plugins.map(\.identifier) == ["one", "two"])
        guard case .json = request.body.content else {
            Issue.record("no JSON body")
            return
        }
    }

    @Test
    func theFluentMethodsSetDeadlineRetryAndCache() {
        let request = Request<User>("/users").deadline(9).retry(RetryPolicy(maxAttempts: 11)).cache(.reload)
        #expect(request.options.deadline == 9)
        #expect(request.options.retry?.maxAttempts == 11)
        #expect(request.options.cache == .reload)
        #expect(Set(request.options.setFields) == ["cache", "deadline", "retry", "route"])
    }

    @Test
    func timesMayBeDurations() {
        guard #available(iOS 16, macOS 13, tvOS 16, watchOS 9, *) else { return }
        let request = Request<User>("/users").timeout(.milliseconds(1500)).deadline(.seconds(30))
        #expect(request.options.timeout == 1.5)
        #expect(request.options.deadline == 30)
        let options = RequestOptions().with(\.connectTimeout, value: .milliseconds(250))
        #expect(options.connectTimeout == 0.25)
        let configuration = PulseConfiguration()
            .with(\.timeout, value: .seconds(20))
            .with(\.deadline, value: .seconds(60))
        #expect(configuration.timeout == 20 && configuration.deadline == 60)
        let negative = TimeInterval(Duration.milliseconds(-1500))
        #expect(negative == -1.5)
    }

    @Test
    func eachFluentMethodReturnsACopy() {
        let request = Request<User>("/users")
        _ = request.query("a", 1).header("b", "2").timeout(3)
        #expect(request.queryItems.isEmpty && request.headers.isEmpty && request.options.timeout == nil)
    }

    @Test
    func theDefaultRouteIsTheMethodAndTheTemplate() {
        let request = Request<User>(.get, "/users/{id}", path: ["id": 7])
        #expect(request.options.route == "GET /users/{id}")
        #expect(request.option(\.route, "user").options.route == "user")
    }

    @Test(arguments: [
        ("/verify?token=abc", "/verify"), ("/users/{id}?a={a}", "/users/{id}"), ("/go?to=https://h/a", "/go"),
        ("/a#token=abc", "/a"), ("/a#b?c", "/a"), ("?token=abc", "/"),
        ("https://bob:hunter2@h.example:8080/users/{id}?x=1", "/users/{id}"), ("https://h.example//a/", "//a/"),
        ("HTTPS://h.example", "/"), ("http://h.example?token=abc", "/"),
        ("", "/"), ("users/{id}", "/users/{id}"), ("/a//b://c", "/a//b://c"), ("a:b/c", "/a:b/c"), ("//a/b", "//a/b"),
        ("/caf\u{E9}/{id}/\u{301}", "/caf\u{E9}/{id}/\u{301}"),
    ])
    func theRouteOmitsQueryAndAuthority(template: String, path: String) {
        #expect(Request<User>(.put, PathTemplate(template)).options.route == "PUT \(path)")
    }

    @Test
    func aMissingOrUnusedValueIsAnErrorOfThePath() {
        for request in [
            Request<User>("/users/{id}"), Request<User>(.get, "/users", path: ["id": 1]),
            Request<User>(.get, "/users/{id}", path: ["id": ".."]),
        ] {
            let error = #expect(throws: PulseError.self) { try request.path }
            #expect(error?.kind == .invalidRequest)
        }
    }

    // MARK: Targets

    @Test
    func aTargetIsAStringAURLOrATemplate() throws {
        let text = "/search?q=1"
        #expect(try Request<EmptyResponse>(.head, text).path.text == text)
        #expect(try Request<EmptyResponse>(text).path.text == text)
        #expect(try Request<EmptyResponse>(.head, PathTemplate(text)).path.text == text)
        let absolute = try url("https://other.example/a%20b?c=d")
        #expect(try Request<EmptyResponse>(.get, absolute).path.text == "https://other.example/a%20b?c=d")
        #expect(try Request<EmptyResponse>(absolute).path.text == "https://other.example/a%20b?c=d")
        let id = "a/b"
        #expect(try Request<EmptyResponse>(.get, "/users/\(id)").path.text == "/users/a%2Fb")
        #expect(try Request<EmptyResponse>("/users/\(id)").path.text == "/users/a%2Fb")
        #expect(Request<EmptyResponse>("/users/\(id)?a=\(id)").options.route == "GET /users/{id}")
    }

    @Test
    func aStringWithValuesIsATemplate() throws {
        let text = "/users/{id}"
        #expect(try Request<User>(.get, text, path: ["id": "a/b"]).path.text == "/users/a%2Fb")
        #expect(try Request<User>(text, path: ["id": 7]).path.text == "/users/7")
        #expect(Request<User>(.get, text, path: ["id": 7]).options.route == "GET /users/{id}")
        // Without values it is used as it is: a brace may be part of a query.
        let filter = #"/users?filter={"a":1}"#
        #expect(try Request<User>(.get, filter).path.text == filter)
        let error = #expect(throws: PulseError.self) { try Request<User>(.get, text, path: ["other": 7]).path }
        #expect(error?.kind == .invalidRequest)
    }

    @Test
    func valuesForAURLAreAnError() throws {
        let target = try url("https://other.example/a")
        let error = #expect(throws: PulseError.self) { try Request<User>(.get, target, path: ["id": "s3cret"]).path }
        #expect(error?.kind == .invalidRequest)
        #expect("\(String(describing: error))".contains("s3cret") == false)
    }

    @Test
    func aCustomTypeCanBeATarget() throws {
        enum Route: RequestTarget {
            case me
            case user
            case repository(String)
            var requestPath: PathText {
                switch self {
                case .me: "/users/me"
                case .user: PathText(PathTemplate("/users/{id}"))
                case .repository(let name): "/users/me/\(name)"
                }
            }
        }
        #expect(try Request<User>(.get, Route.me).path.text == "/users/me")
        #expect(try Request<User>(.get, Route.repository("a/b")).path.text == "/users/me/a%2Fb")
        #expect(try Request<User>(.get, Route.user, path: ["id": 7]).path.text == "/users/7")
        #expect(throws: PulseError.self) { try Request<User>(.get, Route.user).path }
    }
}
