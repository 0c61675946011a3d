// SPDX-License-Identifier: MIT

import PulseCore
import PulseTransports

extension BackgroundTransfers {
    /// Decides what happens to the transfers, the system's tasks and the launches for their events. It has no clock,
    /// disk or session of its own.
    struct StateMachine {
        enum Action: Equatable {
            /// Store the entry durably, before the next action.
            case save(BackgroundEntry)
            /// Remove all that is stored of a transfer.
            case remove(String)
            /// Create a task for the transfer, and report its identifier.
            case make(String)
            case resume(Int)
            case cancel(Int)
            /// Cancel a download, and report its resume data.
            case stop(Int, String)
            /// Hand the outcome to the waiter.
            case deliver(BackgroundEntry)
            /// End the waiter as cancelled.
            case release(String)
            case wait(Wait)
            /// All events of a launch are processed.
            case complete
        }

        /// A wait of limited time.
        enum Wait: Equatable {
            /// For late events of tasks that the system does not list.
            case lateEvents
            /// For events of a launch, all of which the system may have delivered before it.
            case earlyEnd(launch: Int)
        }

        private(set) var entries: [String: BackgroundEntry] = [:]
        /// The transfers that a call waits for.
        private var waiting: Set<String> = []
        /// The transfers whose outcome a call is processing.
        private var judged: Set<String> = []
        /// The transfers whose outcome arrived in this launch, and that no call has processed yet.
        private var unsettled: Set<String> = []
        /// The transfers whose task is being stopped, with that task.
        private var stopping: [String: Int] = [:]
        /// The transfers whose task the system does not list.
        private var missing: Set<String> = []
        /// Whether the wait for missing tasks is over, but the system still delivers the events of a launch.
        private var isLate = false
        private var launch = 0
        private var isLaunched = false
        private var isDelivered = false
        /// Whether all events were delivered before the launch, and none in it. They may be those of an earlier launch.
        private var isDeliveredEarly = false

        // MARK: The launch

        /// Adds the entries that an earlier process has stored.
        mutating func load(_ stored: [BackgroundEntry]) {
            for entry in stored { entries[entry.id] = entry }
        }

        /// Matches the tasks that the system lists with the entries. A task whose identifier and description match no
        /// entry is cancelled: it was never resumed, or belongs to a transfer that is gone.
        mutating func list(_ tasks: [BackgroundTask]) -> [Action] {
            var actions: [Action] = []
            var found: Set<String> = []
            for task in tasks {
                if let entry = entry(of: task) {
                    found.insert(entry.id)
                    // The process may have ended before it resumed the task.
                    if entry.outcome == nil { actions.append(.resume(task.identifier)) }
                } else {
                    actions.append(.cancel(task.identifier))
                }
            }
            missing = Set(entries.values.filter { $0.task != nil && $0.outcome == nil }.map(\.id)).subtracting(found)
            if !missing.isEmpty { actions.append(.wait(.lateEvents)) }
            return actions
        }

        private func entry(of task: BackgroundTask) -> BackgroundEntry? {
            task.name.flatMap { entries[$0] }.flatMap { $0.task == task.identifier ? $0 : nil }
        }

        /// Fails the missing tasks, unless in a launch: there the system reports the last event itself.
        mutating func lateEventsAreOver() -> [Action] {
            isLate = isLaunched && !isDelivered
            return isLate ? [] : lose()
        }

        /// Fails the missing tasks as lost, with whatever they have sent.
        private mutating func lose() -> [Action] {
            isLate = false
            let lost = missing.sorted()
            missing = []
            return lost.flatMap { id in entries[id].map { end($0, .failure(.lost)) } ?? [] }
        }

        // MARK: Calls

        /// Hands over the request of a call, or takes over the transfer of an earlier process.
        ///
        /// - Parameter mayTakeOver: false for a request that follows the outcome of an earlier one.
        /// - Returns: nil if another call waits for the transfer.
        mutating func handOver(_ new: BackgroundEntry, mayTakeOver: Bool) -> [Action]? {
            guard !waiting.contains(new.id), stopping[new.id] == nil, mayTakeOver || judged.contains(new.id) else {
                return nil
            }
            guard !mayTakeOver || !judged.contains(new.id) else { return nil }
            waiting.insert(new.id)
            judged.remove(new.id)
            guard let entry = entries[new.id] else { return start(new, after: nil) }
            let isSame = entry.request == new.request && entry.account == new.account
            guard mayTakeOver, isSame else { return replace(entry, by: new, isSame: isSame) }
            if entry.outcome != nil { return deliver(entry) }
            return entry.task == nil ? start(new, after: entry) : []
        }

        /// Starts again, with another request or after an outcome.
        private mutating func replace(
            _ entry: BackgroundEntry, by new: BackgroundEntry, isSame: Bool
        ) -> [Action] {
            missing.remove(entry.id)
            var actions: [Action] = []
            if let task = entry.task, entry.outcome == nil { actions.append(.cancel(task)) }
            // A resumed request has the header fields of the first one: a server that refused it would do so again.
            guard isSame, case .failure = entry.outcome else {
                return actions + [.remove(entry.id)] + start(new, after: nil)
            }
            return actions + start(new, after: entry)
        }

        private mutating func start(_ new: BackgroundEntry, after old: BackgroundEntry?) -> [Action] {
            unsettled.remove(new.id)
            var entry = new
            entry.hasResumeData = old?.hasResumeData ?? false
            entry.isResumed = entry.hasResumeData
            entries[entry.id] = entry
            return [.save(entry), .make(entry.id)]
        }

        /// Records a new task. Its identifier is stored before it is resumed: an unknown task must send nothing.
        mutating func made(_ id: String, _ task: Int) -> [Action] {
            guard var entry = entries[id] else { return [.cancel(task)] }
            entry.task = task
            entries[id] = entry
            return [.save(entry), .resume(task)] + completeIfSettled()
        }

        /// Handles the cancellation of a call.
        mutating func stopWaiting(_ id: String) -> [Action] {
            guard waiting.remove(id) != nil, let entry = entries[id] else { return [] }
            guard let task = entry.task else { return [.release(id)] }
            missing.remove(id)
            if entry.isUpload {
                entries[id] = nil
                return [.cancel(task), .remove(id), .release(id)]
            }
            stopping[id] = task
            return [.stop(task, id)]
        }

        func isStopping(_ task: Int, _ id: String) -> Bool { stopping[id] == task }

        /// Records that a task was stopped. Its outcome may have arrived before.
        ///
        /// - Parameter hasResumeData: whether resume data for a later task is stored.
        mutating func stopped(_ id: String, hasResumeData: Bool) -> [Action] {
            guard stopping.removeValue(forKey: id) != nil, var entry = entries[id] else { return [] }
            guard entry.outcome == nil else { return [.release(id)] }
            (entry.task, entry.hasResumeData) = (nil, hasResumeData)
            entries[id] = entry
            return [.save(entry), .release(id)]
        }

        /// Handles a failed hand-over. The resume data of an earlier task is kept.
        mutating func abandon(_ id: String) -> [Action] {
            waiting.remove(id)
            guard var entry = entries[id], entry.hasResumeData else { return forget(id) }
            (entry.task, entry.isResumed) = (nil, false)
            entries[id] = entry
            return [.save(entry)] + completeIfSettled()
        }

        // MARK: Events

        /// The transfer of a task whose events still count; nil for any other task.
        func transfer(of task: BackgroundTask) -> BackgroundEntry? {
            entry(of: task).flatMap { $0.outcome == nil ? $0 : nil }
        }

        /// Records the outcome of a task.
        mutating func ended(_ task: BackgroundTask, _ outcome: BackgroundEntry.Outcome) -> [Action] {
            guard let entry = transfer(of: task) else { return [] }
            // A stopped task is reported later, with its resume data.
            if stopping[entry.id] != nil, case .failure = outcome { return [] }
            missing.remove(entry.id)
            return end(entry, outcome)
        }

        private mutating func end(_ entry: BackgroundEntry, _ outcome: BackgroundEntry.Outcome) -> [Action] {
            var entry = entry
            entry.outcome = outcome
            if case .failure(let failure) = outcome {
                entry.hasResumeData = failure.resumeData != nil
            } else {
                entry.hasResumeData = false
            }
            entries[entry.id] = entry
            unsettled.insert(entry.id)
            isDeliveredEarly = false
            // In a launch, the system reports only once that all events are delivered.
            if !isLaunched { isDelivered = false }
            return [.save(entry)] + (waiting.contains(entry.id) ? deliver(entry) : [])
        }

        private mutating func deliver(_ entry: BackgroundEntry) -> [Action] {
            waiting.remove(entry.id)
            judged.insert(entry.id)
            return [.deliver(entry)]
        }

        // MARK: The end of calls

        /// Ends a transfer whose result is in place.
        mutating func settle(_ id: String) -> [Action] {
            guard judged.remove(id) != nil, var entry = entries[id] else { return [] }
            unsettled.remove(id)
            if case .failure = entry.outcome, entry.hasResumeData {
                (entry.task, entry.outcome) = (nil, nil)
                entries[id] = entry
                return [.save(entry)] + completeIfSettled()
            }
            entries[id] = nil
            return [.remove(id)] + completeIfSettled()
        }

        /// Ends a call without a final result. The next call takes over its transfer.
        mutating func leave(_ id: String) -> [Action] {
            judged.remove(id)
            return unsettled.remove(id) == nil ? [] : completeIfSettled()
        }

        /// Drops a transfer that is no longer needed.
        mutating func forget(_ id: String) -> [Action] {
            for set in [\StateMachine.judged, \.missing, \.unsettled] { self[keyPath: set].remove(id) }
            let isStopping = stopping.removeValue(forKey: id) != nil
            let isAwaited = waiting.remove(id) != nil || isStopping
            let entry = entries.removeValue(forKey: id)
            let task = entry?.outcome == nil ? entry?.task : nil
            return (task.map { [.cancel($0)] } ?? []) + (entry == nil ? [] : [.remove(id)])
                + (isAwaited ? [.release(id)] : []) + completeIfSettled()
        }

        // MARK: The system's launches

        /// Records that the system has launched or resumed the app for events of the session.
        mutating func launched() -> [Action] {
            isLaunched = true
            guard isDelivered else { return [] }
            (isDeliveredEarly, isDelivered) = (true, false)
            return [.wait(.earlyEnd(launch: launch))]
        }

        mutating func allDelivered() -> [Action] {
            isDelivered = true
            return isLaunched ? lose() + completeIfSettled() : []
        }

        /// Counts the events that were delivered before the launch as those of the launch.
        mutating func earlyEndCounts(launch: Int) -> [Action] {
            guard launch == self.launch, isDeliveredEarly else { return [] }
            return allDelivered()
        }

        /// Ends a launch whose time limit has passed.
        mutating func launchIsOver() -> [Action] {
            endLaunch()
            return isLate ? lose() : []
        }

        /// Completes the launch once the calls have processed all outcomes. The system may then suspend the app, so a
        /// request that follows, with a new token, must be handed over before.
        private mutating func completeIfSettled() -> [Action] {
            guard isLaunched, isDelivered, unsettled.isEmpty else { return [] }
            endLaunch()
            return [.complete]
        }

        private mutating func endLaunch() {
            launch += 1
            (isLaunched, isDelivered, isDeliveredEarly) = (false, false, false)
        }
    }
}
