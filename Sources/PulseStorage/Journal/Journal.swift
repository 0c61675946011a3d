// SPDX-License-Identifier: MIT

import PulseCore

/// A change of a log's contents.
package enum LogChange: Sendable {
    /// All records: the log was opened, compacted, or rewritten by another process.
    case reset([LogItem])
    /// Records that any process appended.
    case appended([LogItem])
    /// `bytes` bytes were not valid records and were removed. `kept` of them are in a file beside the log; there was no
    /// room for the others.
    case damaged(bytes: Int, kept: Int)
}

/// A part of a compacted log.
package enum LogContent: Sendable {
    case copy(LogLocation)
    /// The record at that location, with another operation and expiry.
    case changed(LogLocation, operation: UInt8, expiry: Int64)
    case record(JournalRecord)
}

/// Records in an order that all users of the log agree on. An append returns once its records are durable, as far as
/// the log supports that.
package protocol Journal: Sendable {
    /// Appends the records together. Throws ``PulseError``; then none of them is in the log.
    ///
    /// - Parameter admission: runs immediately before the append, after all earlier records are applied. It rejects the
    ///   append by throwing, or returns further records to write before these. It must be short.
    func append(_ records: [JournalRecord], admission: (@Sendable () throws -> [JournalRecord])?) async throws
    /// The record at the location that `locate` returns; nil for no location. `locate` runs while the log does not
    /// change.
    func read(_ locate: @escaping @Sendable () -> LogLocation?) async throws -> JournalRecord?
    /// Applies what other processes have appended, then runs `body` while the log does not change.
    func refresh<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value
    /// Replaces the log by the returned contents; nil leaves it as it is. `contents` runs while the log does not
    /// change.
    func compact(_ contents: @escaping @Sendable () -> [LogContent]?) async throws
    /// Deletes the stored damaged lines, which may contain sensitive data.
    func discardDamaged() async throws
    /// Closes the log. Later calls throw ``PulseError/cancelled``.
    func close() async
    /// The size in bytes.
    var size: Int { get }
}

extension Journal {
    package func append(_ records: [JournalRecord]) async throws {
        try await append(records, admission: nil)
    }
}
