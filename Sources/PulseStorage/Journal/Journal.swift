// SPDX-License-Identifier: MIT

import PulseCore

/// A change of a journal's contents.
package enum JournalChange: Sendable {
    /// All records: the journal was opened, compacted, or rewritten by another process.
    case reset([JournalItem])
    /// Records that any process appended.
    case appended([JournalItem])
    /// `bytes` bytes were not valid records and were removed. `kept` of them are in a file beside the journal; there
    /// was no room for the others.
    case damaged(bytes: Int, kept: Int)
}

/// A part of a compacted journal.
package enum JournalContent: Sendable {
    case copy(JournalLocation)
    /// The record at that location, with another operation and expiry.
    case changed(JournalLocation, operation: UInt8, expiry: Int64)
    case record(JournalRecord)
}

/// Records in an order that all users of the journal agree on. An append returns once its records are durable, as far
/// as the journal supports that.
package protocol Journal: Sendable {
    /// Appends the records together. Throws ``PulseError``; then none of them is in the journal.
    ///
    /// - Parameter admission: runs immediately before the append, after all earlier records are applied. It rejects the
    ///   append by throwing, or returns further records to write before these. It must be short.
    func append(_ records: [JournalRecord], admission: (@Sendable () throws -> [JournalRecord])?) async throws
    /// The record at the location that `locate` returns; nil for no location. `locate` runs while the journal does not
    /// change.
    func read(_ locate: @escaping @Sendable () -> JournalLocation?) async throws -> JournalRecord?
    /// Applies what other processes have appended, then runs `body` while the journal does not change.
    func refresh<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value
    /// Replaces the journal by the returned contents; nil leaves it as it is. `contents` runs while the journal does
    /// not change.
    func compact(_ contents: @escaping @Sendable () -> [JournalContent]?) async throws
    /// Deletes the stored damaged lines, which may contain sensitive data.
    func discardDamaged() async throws
    /// Closes the journal. Later calls throw ``PulseError/cancelled``.
    func close() async
    /// The size in bytes.
    var size: Int { get }
}

extension Journal {
    package func append(_ records: [JournalRecord]) async throws {
        try await append(records, admission: nil)
    }
}
