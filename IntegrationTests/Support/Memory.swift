// SPDX-License-Identifier: MIT

import PulseKit
import Testing

/// The process's resident memory, as Linux reports it.
public enum Memory {
    /// The largest growth of the memory in bytes while `body` ran.
    public static func rise<Value>(_ body: () async throws -> Value) async throws -> (Value, Int) {
        // Resets the peak.
        try Data("5".utf8).write(to: URL(fileURLWithPath: "/proc/self/clear_refs"))
        let before = try status("VmRSS:")
        let value = try await body()
        return (value, try status("VmHWM:") - before)
    }

    private static func status(_ field: String) throws -> Int {
        let text = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix(field) })
        let kibibytes = try #require(line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) })
        return kibibytes << 10
    }
}
