// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

extension DownloadList {
    /// Decides which downloads run, and what happens to the others. It has no clock, disk, network or tasks of its own.
    struct StateMachine {
        enum Phase {
            case waiting
            /// The transfer is running; `then` follows its end.
            case running(then: Next)
            /// It waits for a connection or for its account.
            case blocked
            case paused
            /// It was stopped, but not by the user: it resumes after a relaunch.
            case stopped
            case completed(URL)
            case failed(PulseError)
        }

        /// The step that follows the end of a transfer.
        enum Next {
            /// It is not stopped: its outcome decides.
            case itsEnd
            case pause
            /// The list stops all transfers.
            case stop
            case turn
            case removal
        }

        enum Outcome {
            case completed(URL)
            case failed(PulseError)
            /// It was cancelled, but not by the list.
            case cancelled
            /// It can continue later, after ``unblock(_:)``.
            case blocked(Obstacle)
        }

        enum Obstacle {
            case noConnection
            case otherAccount
        }

        enum Action {
            case tell(UUID, Download.Event)
            case start(UUID)
            case stop(UUID)
            /// It has left the list: delete its partial file.
            case drop(UUID)
        }

        private let maxConcurrent: Int
        private(set) var phases: [UUID: Phase] = [:]
        /// The downloads in the order of their addition.
        private(set) var order: [UUID] = []
        /// The waiting downloads, in the order in which they start.
        private var line: [UUID] = []
        private(set) var runningCount = 0
        private var isClosed = false

        init(maxConcurrent: Int) {
            self.maxConcurrent = maxConcurrent
        }

        /// Adds a download that the list has stored.
        mutating func add(_ id: UUID, _ phase: Phase) -> [Action] {
            order.append(id)
            phases[id] = phase
            if case .waiting = phase { line.append(id) }
            return fill()
        }

        mutating func pause(_ id: UUID) -> [Action] {
            switch phases[id] {
            case .waiting, .blocked:
                leaveLine(id, for: .paused)
                return [.tell(id, .paused)]
            case .stopped:
                // Listeners already know it as paused.
                phases[id] = .paused
                return []
            case .running(then: .itsEnd):
                phases[id] = .running(then: .pause)
                return [.stop(id)]
            case .running(then: .turn):
                phases[id] = .running(then: .pause)
                return []
            case .running, .paused, .completed, .failed, nil:
                return []
            }
        }

        mutating func resume(_ id: UUID) -> [Action] {
            guard !isClosed else { return [] }
            switch phases[id] {
            case .paused, .stopped, .failed:
                return [.tell(id, .resumed)] + wait(id)
            case .blocked:
                return wait(id, isTold: false)
            case .running(then: .pause):
                phases[id] = .running(then: .turn)
                return []
            case .waiting, .running, .completed, nil:
                return []
            }
        }

        /// Restarts a download whose request has changed.
        mutating func change(_ id: UUID) -> [Action] {
            if case .running(then: .itsEnd) = phases[id] {
                phases[id] = .running(then: .turn)
                return [.stop(id)]
            }
            return resume(id)
        }

        mutating func cancel(_ id: UUID) -> [Action] {
            switch phases[id] {
            case .waiting, .blocked, .paused, .stopped, .failed:
                return remove(id)
            case .running(then: let next):
                phases[id] = .running(then: .removal)
                if case .itsEnd = next { return [.stop(id)] }
                return []
            case .completed:
                forget(id)
                return []
            case nil:
                return []
            }
        }

        /// Records the outcome of a transfer whose file is closed.
        mutating func ended(_ id: UUID, _ outcome: Outcome) -> [Action] {
            guard case .running(then: let next) = phases[id] else { return [] }
            runningCount -= 1
            switch (next, outcome) {
            case (.removal, .completed(let file)):
                forget(id)
                return [.tell(id, .completed(file))] + fill()
            case (.removal, _):
                return remove(id) + fill()
            case (_, .completed(let file)):
                phases[id] = .completed(file)
                return [.tell(id, .completed(file))] + fill()
            case (.turn, _):
                phases[id] = .paused
                return [.tell(id, .paused)] + resume(id) + fill()
            case (.pause, _):
                phases[id] = .paused
                return [.tell(id, .paused)] + fill()
            case (.stop, _), (.itsEnd, .cancelled):
                phases[id] = .stopped
                return [.tell(id, .paused)] + fill()
            case (.itsEnd, .failed(let error)):
                phases[id] = .failed(error)
                return [.tell(id, .failed(error))] + fill()
            case (.itsEnd, .blocked):
                phases[id] = .blocked
                return [.tell(id, .waiting)] + fill()
            }
        }

        /// Queues a blocked download, since its obstacle may be gone.
        mutating func unblock(_ id: UUID) -> [Action] {
            guard case .blocked = phases[id] else { return [] }
            return wait(id, isTold: false)
        }

        /// Resumes the downloads that were stopped, but not by the user.
        mutating func resumeStopped() -> [Action] {
            order.flatMap { id in
                guard case .stopped = phases[id] else { return [Action]() }
                return resume(id)
            }
        }

        /// Stops all downloads, and starts no more.
        mutating func close() -> [Action] {
            isClosed = true
            return stopAll()
        }

        /// Stops all downloads, until they are resumed.
        mutating func stopAll() -> [Action] {
            order.flatMap { stop($0) }
        }

        private mutating func stop(_ id: UUID) -> [Action] {
            switch phases[id] {
            case .waiting, .blocked:
                leaveLine(id, for: .stopped)
                return [.tell(id, .paused)]
            case .running(then: .itsEnd):
                phases[id] = .running(then: .stop)
                return [.stop(id)]
            case .running(then: .turn):
                phases[id] = .running(then: .stop)
                return []
            case .running, .paused, .stopped, .completed, .failed, nil:
                return []
            }
        }

        // MARK: The line

        private mutating func wait(_ id: UUID, isTold: Bool = true) -> [Action] {
            phases[id] = .waiting
            line.append(id)
            return (isTold ? [.tell(id, .waiting)] : []) + fill()
        }

        private mutating func leaveLine(_ id: UUID, for phase: Phase?) {
            phases[id] = phase
            line.removeAll { $0 == id }
        }

        private mutating func forget(_ id: UUID) {
            leaveLine(id, for: nil)
            order.removeAll { $0 == id }
        }

        private mutating func remove(_ id: UUID) -> [Action] {
            forget(id)
            return [.drop(id), .tell(id, .cancelled)]
        }

        private mutating func fill() -> [Action] {
            var actions: [Action] = []
            while !isClosed, runningCount < maxConcurrent, !line.isEmpty {
                let id = line.removeFirst()
                phases[id] = .running(then: .itsEnd)
                runningCount += 1
                actions += [.tell(id, .started), .start(id)]
            }
            return actions
        }
    }
}

extension DownloadList.StateMachine.Phase {
    var isCompleted: Bool {
        if case .completed = self { true } else { false }
    }

    /// The event for this phase.
    var event: Download.Event {
        switch self {
        case .waiting, .running, .blocked: .waiting
        case .paused, .stopped: .paused
        case .completed(let file): .completed(file)
        case .failed(let error): .failed(error)
        }
    }

    /// The phase to store for a relaunch.
    ///
    /// - Parameter list: the path of the list.
    func stored(now: Date, list: String) -> StoredPhase {
        switch self {
        case .running(then: .pause), .running(then: .removal), .paused: .paused
        case .waiting, .running, .blocked, .stopped: .underWay
        case .completed(let file): .completed(path: file.path, list: list)
        case .failed(let error): .failed(StoredReason(error, now: now))
        }
    }
}
