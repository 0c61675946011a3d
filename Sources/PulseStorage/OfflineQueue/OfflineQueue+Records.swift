// SPDX-License-Identifier: MIT

import PulseCore

// Writing the outcomes of entries into the journal, and keeping the journal small.
extension OfflineQueue {
    func record(_ record: LogRecord, _ id: UUID, tag: String?) async {
        do {
            try await log.append([record]) { [core] in
                if core.read({ $0.isOutdated(record, tag: tag) }) { throw OutdatedVerdict() }
                return []
            }
            settle(id, tag: tag)
            await compactIfNeeded()
        } catch PulseError.custom(is OutdatedVerdict) {
            core.discardPendingOutcome(id)
            settle(id, tag: tag)
        } catch {
            core.decide({
                $0.postpone(id, tag: tag, record, uptime: clock.uptime, randomness: randomness)
            })
            core.emit(.warning("the offline queue cannot write its journal: \(PulseError(wrapping: error))"))
        }
    }

    func end(_ id: UUID, _ reason: QueueRemoval) async {
        do {
            try await log.append([StateMachine.removal(id, reason)]) { [core] in
                guard core.read({ $0.mayEnd(id, reason) }) else { throw OutdatedVerdict() }
                return []
            }
            await compactIfNeeded()
        } catch {
            core.decide({ $0.postponeEnd(id, uptime: clock.uptime, now: clock.now.milliseconds) })
        }
    }

    func settle(_ id: UUID, tag: String?) {
        core.change { $0.settle(id, tag: tag, uptime: clock.uptime) }
    }

    /// Compacts the journal when less than half of it is live.
    func compactIfNeeded() async {
        let live = core.read { $0.liveBytes }
        if log.size > 256 << 10, live < log.size - live { await compactAndReport() }
    }

    /// Compacts the journal. A failure is reported as a warning; the journal stays as it is.
    func compactAndReport() async {
        do {
            try await compact()
        } catch {
            core.emit(.warning("the offline queue cannot compact its journal: \(PulseError(wrapping: error))"))
        }
    }

    /// Removes dead records from the journal.
    ///
    /// - Parameter always: whether to compact also if more than half of the journal is live.
    func compact(always: Bool = false) async throws {
        try await log.compact { [core, log, ended] in
            let contents = core.read { machine in
                always || machine.liveBytes < log.size - machine.liveBytes ? machine.contents() : nil
            }
            // Written first, so that other processes can read the reasons when the records are gone.
            if contents != nil { ended?.add(core.ended) }
            return contents
        }
    }
}

/// The error of a record that is about an earlier revision of its entry.
private struct OutdatedVerdict: Error {}
