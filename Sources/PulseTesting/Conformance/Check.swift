// SPDX-License-Identifier: MIT

import PulseCore

/// The assertions of cases: a library cannot use a test framework's expectations.
enum Check {
    struct Failure: Error, Sendable {
        let reason: String
    }

    /// The server of a case does not exist on this platform.
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

    /// A value as text; a long one by its size and beginning, so that a failure stays readable.
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
