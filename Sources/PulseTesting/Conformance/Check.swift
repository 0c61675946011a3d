// SPDX-License-Identifier: MIT

import PulseCore
import PulseTesting

/// The assertions of cases, because a library cannot use a test framework's expectations.
enum Check {
    struct Failure: Error, Sendable {
        let reason: String
    }

    /// The case needs a server that this platform does not have.
    struct Unavailable: Error, Sendable {
        let reason: String
    }

    static func that(_ condition: Bool, _ reason: @autoclosure () -> String) throws {
        guard condition else { throw Failure(reason: reason()) }
    }

    static func equal<Value: Equatable>(_ value: Value, _ expected: Value, _ what: @autoclosure () -> String) throws {
        guard value != expected else { return }
        throw Failure(reason: "\(what()) is \(shown(value)), not \(shown(expected))")
    }

    /// A value as text. A long one is abbreviated to its size and beginning, to keep failures readable.
    private static func shown(_ value: some Any) -> String {
        switch value {
        case let data as Data where data.count > 60:
            "\(data.count) bytes beginning with “\(String(decoding: data.prefix(40), as: UTF8.self))”"
        case let data as Data: "“\(String(decoding: data, as: UTF8.self))”"
        case let text as String where text.utf8.count > 120: "“\(text.prefix(100))…” (\(text.utf8.count) bytes)"
        case let text as String: "“\(text)”"
        default: String(describing: value)
        }
    }
}
