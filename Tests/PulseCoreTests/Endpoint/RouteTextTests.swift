// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

/// The routes of calls with a literal path.
@Suite(.throttled)
struct RouteTextTests {
    private static func route(_ path: String, _ method: HTTPMethod = .get) -> String {
        PathText(path).route(method, hasValues: false)
    }

    @Test(arguments: [
        "42", "-7", "2024-01-31", "1.5", "12,13", "0",
        "123e4567-e89b-12d3-a456-426614174000", "123E4567-E89B-12D3-A456-426614174000",
        "123e4567e89b12d3a456426614174000", "507f1f77bcf86cd799439011", "deadbeefdeadbeef", "9fceb02d",
        "01ARZ3NDEKTSV4RRFFQ69G5FAV", "dQw4w9WgXcQ", "cus_9s6XKzkNRlz8i3", "QWxhZGRpbjpvcGVu", "aGVsbG93b3JsZA==",
        "V1StGXR8_Z5jdHi6B-myT", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "ada@example.com", "ada%40example.com",
        "hello%20world", "caf\u{E9}", "a b", String(repeating: "a", count: 65),
    ])
    func aSegmentThatLooksLikeAValueIsAPlaceholder(value: String) {
        #expect(Self.route("/users/\(value)/posts") == "GET /users/{id}/posts")
        #expect(Self.route("/v1/\(value)", .delete) == "DELETE /v1/{id}")
    }

    @Test(arguments: [
        "/users", "/v1/users", "/api/v2beta1/oauth2/token", "/.well-known/oauth2-authorization-server",
        "/GetUserProfileInformation", "/twirp/example.haberdasher.Haberdasher/MakeHat", "/@me", "/users/~ada", "/a/",
        "/a//b", "/", "/i18n/mp4", "/getting-started-guide", "/facade/decade", "/index.html", "/XMLHttpRequest",
        "/internationalization", "/rhythms",
    ])
    func wordsStayInTheRoute(path: String) {
        #expect(Self.route(path) == "GET \(path)")
    }

    @Test(arguments: [
        ("/orders/order-1234", "/orders/order-{id}"), ("/reports/2024q3.pdf", "/reports/{id}q3.pdf"), ("", "/"),
        ("users/7", "/users/{id}"), ("/users/7?token=abc", "/users/{id}"), ("/users/7#a", "/users/{id}"),
        ("https://bob:hunter2@h.example/users/7?x=1", "/users/{id}"), ("https://h.example", "/"),
        ("/users/{1b4e28ba-2fa1-11d2-883f-0016d3cca427}", "/users/{id}"),
    ])
    func aPathIsReducedToItsRoute(path: String, route: String) {
        #expect(Self.route(path) == "GET \(route)")
    }

    @Test
    func aTemplateIsItsOwnRoute() {
        let template = PathText(PathTemplate("/reports/2024/{name}"))
        #expect(template.route(.get, hasValues: true) == "GET /reports/2024/{name}")
        #expect(PathText("/reports/2024/{name}").route(.get, hasValues: true) == "GET /reports/2024/{name}")
        #expect(PathText(PathTemplate("/users/7")).route(.get, hasValues: false) == "GET /users/{id}")
    }

    /// Any number of paths with common identifiers gives a single route.
    @Test
    func aThousandIdentifiersGiveOneRoute() {
        var random = SplitMix64(seed: 7)
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        var routes: Set<String> = []
        for number in 0..<1000 {
            routes.insert(Self.route("/users/\(number)"))
            let hex = (0..<32).map { _ in String(Int.random(in: 0..<16, using: &random), radix: 16) }
            routes.insert(Self.route("/users/\(hex.joined())"))
            let groups = [hex[..<8], hex[8..<12], hex[12..<16], hex[16..<20], hex[20...]].map { $0.joined() }
            routes.insert(Self.route("/users/\(groups.joined(separator: "-"))"))
        }
        #expect(routes == ["GET /users/{id}"])
        // This is a guess: a few of a thousand random texts may pass for words.
        let guessed = (0..<1000).filter { _ in
            let text = String((0..<22).map { _ in alphabet.randomElement(using: &random) ?? "a" })
            return Self.route("/users/\(text)") == "GET /users/{id}"
        }
        #expect(guessed.count > 850)
    }
}
