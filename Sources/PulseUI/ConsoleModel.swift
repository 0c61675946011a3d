// SPDX-License-Identifier: MIT

public import PulseCore
public import PulseObservability

/// The model of the network console: the recorded calls as rows, filtered, with exports.
///
/// ```swift
/// let model = ConsoleModel()
/// let following = Task { await model.run() }
/// for await content in model.contents { show(content) }
/// ```
///
/// `PulseDebugView` displays it in SwiftUI. Secrets are masked before the recorder stores anything, so no row, call or
/// export contains one. The model uses the recorder's memory; a paused model also keeps the recording that it shows.
@MainActor
public final class ConsoleModel {
    /// What the console shows now.
    public private(set) var content: ConsoleContent
    /// The filter of the shown calls. The content follows a moment later, computed off the main actor.
    public var filter = ConsoleFilter() {
        willSet { observers.send() }
        didSet {
            if filter != oldValue { updateSoon() }
        }
    }
    /// Whether the content is paused. The recorder continues, and the content catches up afterwards.
    public var isPaused = false {
        willSet { observers.send() }
        didSet {
            if isPaused != oldValue { updateSoon() }
        }
    }

    private let recorder: PulseRecorder
    private let clock: any PulseClock
    /// The recording behind ``content``.
    private var recording: PulseRecording
    private(set) var order = UpdateOrder()
    private var pace = UpdatePace()
    private let shown: Broadcast<ConsoleContent>
    let observers = ChangeObservers()
    /// The update after the last change of ``filter`` or ``isPaused``. It ends on its own.
    private(set) var lastUpdate: Task<Void, Never>?

    /// Creates a console for a recorder, by default the shared one, with its current calls.
    ///
    /// - Parameter clock: the clock for the time between updates.
    public init(recorder: PulseRecorder = .shared, clock: any PulseClock = .system) {
        self.recorder = recorder
        self.clock = clock
        recording = recorder.recording()
        content = ConsoleContent(recording)
        shown = Broadcast(content, bufferSize: 1)
    }

    /// Follows the recorder until the task is cancelled: changes appear at once, but at most four times a second,
    /// however many tasks call it.
    public func run() async {
        // Subscribed to before the first read, so that no change is missed.
        let changes = recorder.changes
        guard await waitForTurn() else { return }
        await update()
        for await _ in changes {
            guard await waitForTurn() else { return }
            if !isPaused { await update() }
        }
    }

    /// The content now and after each update, for a user interface without SwiftUI; each access creates a new stream. A
    /// slow reader gets only the newest content.
    public var contents: AsyncStream<ConsoleContent> { shown.updates() }

    /// Removes all calls, from the recorder as well. Calls in progress stay removed.
    public func clear() {
        recorder.removeAll()
        order.outdate()
        let recording = recorder.recording()
        show(ConsoleContent(recording, filter: filter), of: recording)
    }

    /// The recorded call of a row; nil if the call is no longer recorded.
    public func call(_ id: ConsoleRow.ID) -> PulseRecording.Call? {
        recording.calls.last { $0.id == id }
    }

    /// The details of a call for `PulseDebugView`; nil if the call is no longer recorded.
    package func details(of id: ConsoleRow.ID) -> ConsoleDetails? {
        call(id).map { ConsoleDetails($0) }
    }

    /// Exports the calls in a format: all of them with the events that belong to no call, or only those that pass the
    /// filter.
    public func export(_ format: ConsoleExport.Format, shownOnly: Bool = false) async -> ConsoleExport {
        await Self.export(
            format, of: isPaused ? recording : recorder.recording(), matching: shownOnly ? filter : nil, at: clock.now)
    }

    /// Writes an export to a folder, by default a new temporary one, and returns the file's URL. Only the current user
    /// may read the file and enter the new folder.
    ///
    /// Throws ``PulseError/custom(_:)`` with the file system's error.
    public func exportFile(
        _ format: ConsoleExport.Format, shownOnly: Bool = false,
        to folder: URL? = nil
    ) async throws -> URL {
        try await Self.write(await export(format, shownOnly: shownOnly), to: folder)
    }

    // MARK: Updates

    /// Waits until an update is due; false if the task was cancelled.
    private func waitForTurn() async -> Bool {
        (try? await clock.sleep(pace.delay(at: clock.uptime), for: .other)) != nil
    }

    private func updateSoon() {
        order.outdate()
        lastUpdate = Task { await update() }
    }

    /// Computes the content and shows it, unless it becomes outdated meanwhile.
    private func update() async {
        let turn = order.start()
        let recording = isPaused ? recording : recorder.recording()
        let content = await Self.content(of: recording, matching: filter)
        if order.finish(turn) { show(content, of: recording) }
    }

    /// Shows content even if it is unchanged, because the details of a call may differ.
    private func show(_ content: ConsoleContent, of recording: PulseRecording) {
        observers.send()
        self.recording = recording
        self.content = content
        shown.set(content)
    }

    private nonisolated static func content(
        of recording: PulseRecording, matching filter: ConsoleFilter
    ) async -> ConsoleContent {
        ConsoleContent(recording, filter: filter)
    }

    private nonisolated static func write(_ export: ConsoleExport, to folder: URL?) async throws -> URL {
        try export.write(to: folder)
    }

    private nonisolated static func export(
        _ format: ConsoleExport.Format, of recording: PulseRecording, matching filter: ConsoleFilter?, at date: Date
    ) async -> ConsoleExport {
        ConsoleExport(
            format, of: filter.map { PulseRecording(calls: $0.calls(of: recording)) } ?? recording, at: date)
    }
}
