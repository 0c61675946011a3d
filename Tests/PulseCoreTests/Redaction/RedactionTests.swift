// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

@Suite(.throttled)
struct RedactionTests {
    @Test(arguments: [
        "Authorization", "authorization", "AUTHORIZATION", "Proxy-Authorization", "Cookie", "Set-Cookie", "X-API-Key",
        "apikey", "api_key", "api.key", "X-Api-Key", "X-Signature-256", "X-Signature", "X-Hub-Signature-256",
        "X-Amz-Signature", "X-Amz-Credential", "X-Amz-Security-Token", "sig", "access_token", "accessToken", "id_token",
        "refresh-token", "X-CSRF-Token", "xsrf", "client_secret", "clientSecret", "password", "newPassword", "passwd",
        "user_pwd", "pass", "passphrase", "private_key", "PHPSESSID", "JSESSIONID", "session_id", "connect.sid", "jwt",
        "otp", "pin", "user[password]", "user[pin]", "[sig]", "Ocp-Apim-Subscription-Key", "X-Auth-Key",
        "code_verifier", "Authentication", "Authentication-Info", "Proxy-Authentication-Info", "X-Authentication",
        "card_number", "cvv", "AWSAccessKeyId", "p-a-s-s-w-o-r-d", "my token", "\u{43A}\u{43B}token",
    ])
    func secretNamesAreRecognized(name: String) {
        #expect(Redaction.standard.isSecret(name))
    }

    @Test(arguments: [
        "", "Accept", "Content-Type", "Content-Length", "User-Agent", "X-Request-ID", "Idempotency-Key", "ETag", "Date",
        "WWW-Authenticate", "Access-Control-Allow-Credentials", "Location", "spinner", "opinion", "design", "compass",
        "author", "authority", "bypass", "signed", "insight", "hotpot", "key", "code", "name", "id", "page",
        "traceparent", "authenticationType",
        "Sec-WebSocket-Key", "X-RateLimit-Reset", "t\u{F6}ken", "toke", "---", "\u{0}",
    ])
    func otherNamesAreNotSecret(name: String) {
        #expect(!Redaction.standard.isSecret(name))
    }

    @Test
    func additionalNamesMatchInAnySpelling() {
        let redaction = Redaction(secretHeaders: ["X-Tenant", "code", "", "---"])
        for name in ["X-Tenant", "x_tenant", "xtenant", "code", "Authorization", "login[code]"] {
            #expect(redaction.isSecret(name), "\(name)")
        }
        for name in ["X-Tenant-Name", "encode", "postcode", "", "---", "Accept"] {
            #expect(!redaction.isSecret(name), "\(name)")
        }
        #expect(!Redaction(secretHeaders: []).isSecret("X-Tenant"))
        #expect(redaction.url("/a?x-tenant=t1&b=2") == "/a?x-tenant=***REDACTED***&b=2")
    }

    @Test
    func theNamesOfItemsAreSecretInQueriesAndFormsOnly() {
        let redaction = Redaction(secretHeaders: [String](), queryItems: ["appid", "v"])
        let mask = Redaction.mask
        for rules in [redaction, Redaction.standard.adding(redaction), redaction.adding(["X-Tenant"])] {
            #expect(rules.url("https://h/p?appid=a%26b&V=2&vv=3#x") == "https://h/p?appid=\(mask)&V=\(mask)&vv=3#x")
            #expect(rules.text("GET https://h/p?appid=a1 failed") == "GET https://h/p?appid=\(mask) failed")
            let form = rules.body(Data("appid=a1&b=2".utf8), contentType: "application/x-www-form-urlencoded")
            #expect(form == "appid=\(mask)&b=2")
            #expect(!rules.isSecret("v") && !rules.isSecret("Accept", value: "text/html; v=2"))
            #expect(rules.body(Data(#"{"v":2}"#.utf8), contentType: "application/json") == #"{"v":2}"#)
        }
    }

    @Test
    func headersAreMaskedByNameAndByContent() {
        let shown = Redaction.standard.headers([
            "Authorization": "Bearer abc", "Accept": "text/html", "Location": "https://u:p@h/cb?token=t1&state=ok#x",
            "WWW-Authenticate": "Bearer realm=\"api\", error=\"invalid_token\"", "X-Api-Key": "",
        ])
        #expect(
            shown == [
                "Authorization": Redaction.mask, "Accept": "text/html", "X-Api-Key": Redaction.mask,
                "Location": "https://***REDACTED***@h/cb?token=***REDACTED***&state=ok#x",
                "WWW-Authenticate": "Bearer realm=\"api\", error=\"invalid_token\"",
            ])
        #expect(Redaction.standard.headerValue("max-age=1", for: "Cache-Control") == "max-age=1")
    }

    /// Each secret in each position: it must be masked, and the surrounding text must stay.
    @Test(arguments: Secrets.all)
    func aSecretIsMaskedInEveryPosition(secret: String) throws {
        let redaction = Redaction.standard
        let escaped = try #require(secret.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
        let json = try Secrets.json(secret)
        var shown: [String: String] = [:]
        shown["header"] = redaction.headers(["X-Api-Key": secret, "X-Neighbour": "neighbour"]).description
        shown["query"] = redaction.url("https://h.example/p?a=neighbour&access_token=\(escaped)&b=neighbour2#frag")
        shown["escaped name"] = redaction.url("https://h.example/p?a=neighbour&%61ccess%5Ftoken=\(escaped)")
        shown["fragment"] = redaction.url("https://h.example/p#token=\(escaped)&state=neighbour")
        shown["user info"] = redaction.url("https://bob:\(escaped)@neighbour.example/p")
        shown["nested URL"] = redaction.url("/p?a=neighbour&next=https%3A%2F%2Fh%2F%3Ftoken%3D\(escaped)%26b%3D1")
        shown["form"] = redaction.body(
            Data("a=neighbour&client_secret=\(escaped)&b=2".utf8), contentType: "application/x-www-form-urlencoded")
        shown["JSON"] = redaction.body(
            Data(#"{"a":"neighbour","x":[{"password":\#(json),"b":1}]}"#.utf8), contentType: "application/json")
        shown["JSON array"] = redaction.body(
            Data(#"{"tokens":[\#(json),{"x":\#(json)}],"a":"neighbour"}"#.utf8), contentType: "application/json")
        shown["JSON cut short"] = redaction.body(
            Data(#"{"a":"neighbour","x":[{"password": \#(json.dropLast())"#.utf8), contentType: "application/json")
        shown["JSON in JSON"] = redaction.body(
            Data(#"{"a":"neighbour","x":\#(try Secrets.json(#"{"token":\#(json),"y":1}"#))}"#.utf8), contentType: nil)
        shown["JSON in text"] = redaction.text(#"neighbour: bad body {"token":\#(json),"y":1}"#)
        shown["multipart"] = redaction.body(
            Data(
                ("--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\n\(secret)\r\n--b\r\n"
                    + "Content-Disposition: form-data; name=\"a\"\r\n\r\nneighbour\r\n--b--\r\n").utf8),
            contentType: "multipart/form-data; boundary=b")
        shown["cookies"] = redaction.text("GET / HTTP/1.1\r\nCookie: a=b; sid=\(secret)\r\nAccept: neighbour\r\n")
        shown["Authorization"] = redaction.text("> Authorization: Bearer \(secret)\n> Accept: neighbour")
        shown["quoted header"] = redaction.text(
            "curl -H \"Authorization: Basic x \(secret.filter { $0 != "\"" })\" neighbour")
        shown["dictionary"] = redaction.text("[\"a\": \"neighbour\", \"X-Api-Key\": \(json)]")
        shown["optional"] = redaction.text("Login(user: \"neighbour\", password: Optional(\(json)))")
        shown["URL in text"] = redaction.text(
            "neighbour failed: https://u:\(escaped)@h.example/p?sig=\(escaped)&b=neighbour2.")
        shown["XML"] = redaction.text(
            "<a>neighbour</a><Password type=\"x\">\(secret.replacingOccurrences(of: "<", with: ""))</Password>")
        if !secret.contains(where: { " \"'&<>,;()[]{}\\".contains($0) }) {
            shown["pair"] = redaction.text("neighbour: bad password=\(secret), user=neighbour2")
            shown["colon"] = redaction.text("neighbour: token: \(secret) was refused")
            shown["Bearer"] = redaction.text("neighbour sent Bearer \(secret) again")
        }
        for (position, text) in shown {
            for part in Secrets.parts(of: secret) {
                #expect(!text.contains(part), "\(part) in \(position): \(text)")
            }
            #expect(text.contains("neighbour"), "\(position): \(text)")
            #expect(text.contains(Redaction.mask), "\(position): \(text)")
            if position == "query" || position == "URL in text" || position == "pair" {
                #expect(text.contains("neighbour2"), "\(text)")
            }
        }
    }
}

enum Secrets {
    static let all = [
        "s3cr3t-value", "hunter2", "correct horse battery", "AKIAIOSFODNN7EXAMPLE",
        "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLE",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
        "eyJhbGciOiJSU0EifQ..aXY.Y2lwaGVy.dGFn", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "sk-proj-abcDEF123456",
        "sk_live_4eC39HqLyjWDarjtT1zdp7dc", "xoxb-123456789012-abcdefABCDEF", "1|laravelSanctumTokenValue",
        "dXNlcjpwYXNzd29yZA==", "YWJjZGVm+/==", "p@ssw0rd!x9", "a#b#c#d#e", "semi;colon;value9", "comma,value,in9",
        "amp&ersand&val9", "quote\"in\"side9", "it's'single9", "back\\slash\\9x", "br(ack)ets9", "curly{brace}9x",
        "angle<br>ket9x", "per%cent%val9", "p\u{E4}ssw\u{F6}rt9", "\u{1F511}emoji-key9", "new\nline\nval9",
        "tab\tval\t9x",
        "equals=in=val9", "colon:in:val9", "slash/in/val9", "question?in?9x", "0123456789", "ya29.a0AfH6SMBx-_y9",
        "TlRMTVNTUAABAAAAB4IIogAAAAA", "00000000-1111-2222-3333-444444444444",
    ]

    /// Pieces of the secret that are long enough to be unique in the text.
    static func parts(of secret: String) -> [String] {
        let pieces = secret.split { !($0.isLetter || $0.isNumber) }.map(String.init).filter { $0.count > 4 }
        return pieces + [secret]
    }

    static func json(_ text: String) throws -> String {
        try String(decoding: JSONEncoder().encode(text), as: UTF8.self)
    }
}
