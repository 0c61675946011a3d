// SPDX-License-Identifier: MIT

import PulseCore

/// A change of a log's contents.
package enum LogChange: Sendable {
    /// These are all records: the log was opened, compacted, or written anew by another process.
    case reset([LogItem])
    /// These were added, by any process.
    case appended([LogItem])
    /// That many bytes were no records and were taken out; `kept` of them are in a file beside the log, and for the
    /// others there was no room.
    case damaged(bytes: Int, kept: Int)
}

/// A part of a compacted log.
package enum LogContent: Sendable {
    case copy(LogLocation)
    /// The record there, as another operation and with another expiry.
    case changed(LogLocation, operation: UInt8, expiry: Int64)
    case record(LogRecord)
}

/// Records in an order that all who share the log agree on. Each is durable, as far as the log can make it, before
/// whoever appended it goes on.
package protocol RecordLog: Sendable {
    /// Appends the records together. Throws ``PulseError``; then none of them is in the log.
    ///
    /// - Parameter admission: runs right before, with everything applied that came earlier; refuses by throwing, or
    ///   gives further records to write before these. Must be short.
    func append(_ records: [LogRecord], admission: (@Sendable () throws -> [LogRecord])?) async throws
    /// The record at the place that the closure finds, asked when nothing else changes the log; nil for no place.
    func read(_ locate: @escaping @Sendable () -> LogLocation?) async throws -> LogRecord?
    /// Applies what others have added, then runs `body` while nobody changes the log.
    func refresh(_ body: @escaping @Sendable () throws -> Void) async throws
    /// Replaces the log by what the closure gives, asked when nothing else changes the log; nil leaves it.
    func compact(_ contents: @escaping @Sendable () -> [LogContent]?) async throws
    /// Removes the damaged lines that were set aside: they may hold what is to be forgotten.
    func discardDamaged() async throws
    /// Closes the log. Later calls throw ``PulseError/cancelled``.
    func close() async
    /// The size in bytes.
    var size: Int { get }
}

extension RecordLog {
    package func append(_ records: [LogRecord]) async throws {
        try await append(records, admission: nil)
    }
}
