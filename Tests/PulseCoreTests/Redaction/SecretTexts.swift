// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport

/// Texts with a secret in a position that the rules promise to mask, whatever surrounds it.
struct SecretTexts {
    static let secret = "S3cr3tV4lue9"

    private var random: SplitMix64

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    private mutating func one(_ choices: [String]) -> String {
        choices[Int.random(in: choices.indices, using: &random)]
    }
    private mutating func chance(_ count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }

    mutating func next() -> String {
        var text = ""
        for _ in 0..<Int.random(in: 0...4, using: &random) { text += noise() + joint() }
        text += carrier()
        for _ in 0..<Int.random(in: 0...2, using: &random) { text += joint() + noise() }
        while chance(3) { text = wrapped(text) }
        return text
    }

    /// Text before and after the secret: prose, and much that looks like the start of a secret.
    private mutating func noise() -> String {
        one([
            "GET /p", "https://user:pw1@h.example", "https://user:pw1@h.example/Bearer", "https://h.example/p?x=1#y",
            "https://user:pw1@h.example/p,Bearer", "//user:pw1@h.example/q", "http://h:8080/a@b", "password=",
            "password:", "token: ", "secret =",
            "\"token\":\"\"", "'pin':''", "a=1", "a: b", "Bearer", "Basic", "bearer token", "the token", "error:",
            "x::y", "user@h.example",
            Redaction.mask, "password=\(Redaction.mask)", "Bearer \(Redaction.mask)", "{}", "[1, 2]", "(a)",
            "\u{E9}\u{301}", "12:30:00", "//", "?",
            "#", "&", "%20", "%zz", "&amp;", "<a>b</a>", "Digest", "Cookie:", "api key", "C:\\dir\\x", "1 < 2 > 0",
            "-1009.",
        ])
    }

    private mutating func joint() -> String {
        one([" ", " ", " ", "\n", "\r\n", "\t", ", ", "; ", " - ", " | ", "  "])
    }

    private mutating func carrier() -> String {
        let secret = Self.secret
        switch Int.random(in: 0..<5, using: &random) {
        case 0:
            let name = one([
                "password", "token", "api_key", "X-API-Key", "client_secret", "access_token", "Passwd", "csrf-token",
                "user[pin]",
            ])
            let quote = one(["", "", "\"", "'", "`"])
            return name + one(["=", ":", ": ", " = ", "==", " => ", ":=", " : "]) + quote + secret + quote
        case 1:
            return one([
                "Bearer", "bearer", "Basic", "Negotiate", "ApiKey", "Bearer Bearer", "Basic Basic", "Bearer Basic",
            ])
                + one([" ", "  "]) + one([secret, "\"\(secret)\"", "'\(secret)'", "<\(secret)>", secret])
        case 2:
            return one([
                "Authorization: ", "authorization: ", "Proxy-Authorization: ", "Cookie: ", "Set-Cookie: ",
                "X-API-Key: ",
            ])
                + one([secret, "Bearer \(secret)", "a=\(secret)", "Bearer Bearer \(secret)"])
        case 3:
            return one(["https", "http", "wss", "postgres"]) + "://"
                + one([
                    "user:\(secret)@h.example", "\(secret)@h.example/p", "h.example/p?token=\(secret)&x=1",
                    "h.example/p;password=\(secret)",
                    "h.example;password=\(secret)", "h.example&password=\(secret)", "h;a=b;password=\(secret)/p",
                    "h.example#token=\(secret)",
                    "h.example/p#a=b&token=\(secret)", "h/p?next=%2Fq%3Ftoken%3D\(secret)", "h/#/login?token=\(secret)",
                    "h/p#a;password=\(secret)",
                    "h/p?u=https://user:\(secret)@h", "u:p@h/p?token=\(secret)", "h?password=&token=\(secret)",
                    "h#password:\(secret)",
                    "u:p@h;token=\(secret)", "h,password=\(secret)", "h/p#/q#token=\(secret)",
                    "h:80;password=\(secret)", "[::1];password=\(secret)",
                    "h/p#%23token%3D\(secret)", "h?a=1&&&password=\(secret)", "h/a=b&password=\(secret)",
                    "h|password=\(secret)",
                    "u:p@h/Bearer \(secret)", "u:p@h,Bearer \(secret)", "u:p@h/p token: \(secret)",
                    "h/p?token: \(secret)",
                ])
        default:
            return one([
                "<input name='pin' value='\(secret)'>", "<input value=\"\(secret)\" name=\"csrf\">",
                "{\"key\":\"pin\",\"value\":\"\(secret)\"}", "{\"value\":\"\(secret)\",\"name\":\"pin\"}",
                "xoxb-\(secret)", "<password>\(secret)</password>", "\"token\":\"\(secret)\"",
                "{\"a\":{\"secret\": \"\(secret)\"}}",
                "{\"pin\":[\"\(secret)\"]}",
                "eyJhbGciOiJIUzI1NiJ9.\(secret).c2ln", "token%3D\(secret)", "a%26password%3D\(secret)",
                "//user:\(secret)@h.example/p",
                "Optional(\"token=\(secret)\")", "?token=\(secret)", "&token=\(secret)", "password=&token=\(secret)",
                "password= token=\(secret)",
                "password: token: \(secret)", "password=; token=\(secret)",
                "\"password\":\"\", \"token\":\"\(secret)\"",
            ])
        }
    }

    private mutating func wrapped(_ text: String) -> String {
        func replaced(_ pairs: KeyValuePairs<String, String>) -> String {
            pairs.reduce(text) { $0.replacingOccurrences(of: $1.key, with: $1.value) }
        }
        switch Int.random(in: 0..<6, using: &random) {
        case 0:
            return "{\"text\":\"" + replaced(["\\": "\\\\", "\"": "\\\"", "\n": "\\n", "\r": "\\r", "\t": "\\t"])
                + "\"}"
        case 1:
            return "{\"text\":\""
                + replaced([
                    "\\": "\\\\", "\"": "\\u0022", "\n": "\\n", "\r": "\\r", "\t": "\\t", "<": "\\u003c",
                    ">": "\\u003e", "'": "\\u0027",
                ]) + "\"}"
        case 2: return "https://h.example/p?q=" + PercentEncoding.query(text) + "&x=1"
        case 3: return "<a>" + replaced(["&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;"]) + "</a>"
        case 4: return "https://h.example/p#" + PercentEncoding.query(text)
        default: return "(" + text + ")"
        }
    }
}
