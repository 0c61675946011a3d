// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport
import Testing

/// Random texts around a known secret, whose number `PULSE_STEPS` sets, and hostile ones.
@Suite(.tags(.schedule), .throttled)
struct RedactionScheduleTests {
    private static let steps = ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init) ?? 2_000
    /// The bytes of a text whose cost must be linear.
    private static let size = ProcessInfo.processInfo.environment["PULSE_STEPS"] == nil ? 3_000 : 1 << 20

    @Test(arguments: [1, 2, 3] as [UInt64])
    @HeavyWork func noSecretPassesAndRedactionIsIdempotent(seed: UInt64) {
        var texts = SecretTexts(seed: seed)
        let redaction = Redaction.standard
        for step in 0..<Self.steps {
            let text = texts.next()
            let shown = redaction.text(text)
            let comment: Comment = "seed \(seed), step \(step): \(text.debugDescription)"
            #expect(!shown.contains(SecretTexts.secret), comment)
            #expect(redaction.text(shown) == shown, comment)
        }
    }

    @Test
    @HeavyWork func noSecretPassesInAStringOfABody() throws {
        var texts = SecretTexts(seed: 4)
        for step in 0..<Self.steps / 10 {
            let text = texts.next()
            let comment: Comment = "step \(step): \(text.debugDescription)"
            let json = try JSONEncoder().encode(["text": text])
            let form = Data("text=\(PercentEncoding.form(text))&x=1".utf8)
            for (body, type) in [(json, "application/json"), (form, "application/x-www-form-urlencoded")] {
                let shown = try #require(Redaction.standard.body(body, contentType: type))
                #expect(!shown.contains(SecretTexts.secret), comment)
                #expect(Redaction.standard.body(Data(shown.utf8), contentType: type) == shown, comment)
            }
        }
    }

    /// A quadratic scan of a megabyte, in release, takes longer than the time limit.
    @Test(arguments: [
        "=", ":", "token=", "token:", "token:{", "token=[\"", "token=\"", "\"", "\\", "\\\"", "\"token\":\\\"",
        "'Cookie:",
        "Authorization: ", "Bearer ", "Digest a=", "eyJ", "eyJ.", "<token>", "<token", "<", ">", "<![CDATA[",
        "-----BEGIN ", "-",
        "https://", "a://?b=", "a://@", "%3D", "a%3D", "%25", "token%3D%26", "token=,", "token=(\"", "a", "a b ",
        "--b\n", "{\"a\":", "[", "&", "token=a,b", "\u{1F511}", "-----BEGIN PRIVATE KEY-----", "{\"token\":&", "a:b&",
        "https://a?%3D=&", "\\u0022", "\\u0022token\\u0022:", "\\u0022token\\u0022:[\\u0022", "&lt;token&gt;&lt;a",
        "&lt;",
        "&quot;:", "&quot;token&quot;:&quot;", "&quot;token&quot;:{", "&amp;amp;", "https://a&lt;", "https://&quot;",
        "name=", "value=", "value=\"", "name='", "name=pin value=", "value=a name=pin ", "name=pin}value=a ",
        "value=a}name=pin ", "\"value\":{", "{\"value\":{\"name\":\"pin\",\"a\":", "{\"value\":", "ghp_", "xoxb-",
        "AKIA",
        "/token: ", "a(b:", "token=a(b:", "Bearer a{b:", "a\"key\":", "\"key\"", "\\u0022key\\u0022", "token:\"\"\"",
        "token:\\\"\\\"\\\"", "\"):",
    ])
    @HeavyWork func redactionTakesLinearTime(piece: String) {
        let text = String(repeating: piece, count: Self.size / piece.utf8.count)
        _ = Redaction.standard.text(text)
        _ = Redaction.standard.text("token=\"" + text)
        _ = Redaction.standard.url("https://h/?" + text)
        _ = Redaction.standard.url("https://h/?" + text + "=")
        for type in ["application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=b"] {
            _ = Redaction.standard.body(Data(text.utf8), contentType: type)
            _ = Redaction.standard.body(Data(("a" + text + "=").utf8), contentType: type)
        }
    }
}
