// SPDX-License-Identifier: MIT

import TestSupport
import Testing

@testable import PulseCore

/// Random texts around a known secret; `PULSE_STEPS` sets their number.
@Suite(.tags(.schedule), .throttled, .timeLimit(.minutes(15)))
struct RedactionScheduleTests {
    private static let steps = ProcessInfo.processInfo.environment["PULSE_STEPS"].flatMap(Int.init) ?? 10_000

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
}
