// SPDX-License-Identifier: MIT

public import PulseCore
import PulseObservability

/// What the recording lacks, and why.
public enum ConsoleNotice: Sendable, Hashable {
    /// Calls that started before the recorder, or before it was last cleared, are missing.
    case earlierCalls(before: Date)
    /// That many older calls were dropped to make room.
    case droppedCalls(Int)
    /// Calls to these hosts have neither headers nor bodies, because the recorder is not among their client's plugins.
    case headersAndBodies(hosts: [String])

    static func notices(of recording: PulseRecording) -> [ConsoleNotice] {
        var notices: [ConsoleNotice] = []
        let hosts = hostsWithoutRequests(of: recording)
        if !hosts.isEmpty { notices.append(.headersAndBodies(hosts: hosts)) }
        if recording.droppedCallCount > 0 { notices.append(.droppedCalls(recording.droppedCallCount)) }
        if let since = recording.since { notices.append(.earlierCalls(before: since)) }
        return notices
    }

    /// The hosts that sent responses although no request to them is recorded. A single call without a request proves
    /// nothing: it may have waited for the response to another one.
    private static func hostsWithoutRequests(of recording: PulseRecording) -> [String] {
        let known = Set(recording.calls.lazy.filter { !$0.exchanges.isEmpty }.map(\.host))
        return Set(recording.calls.lazy.filter(\.hasNetworkResponse).map(\.host)).subtracting(known).sorted()
    }

    /// The notice as a sentence, with times in the given zone, the user's by default.
    public func text(in zone: TimeZone = .current) -> String {
        switch self {
        case .earlierCalls(let date): "Calls before \(ConsoleText.time(date, in: zone)) are not recorded."
        case .droppedCalls(let count): "\(LogText.count(count, "older call")) made room for later ones."
        case .headersAndBodies(let hosts): "\(Self.remedy) They are missing for \(hosts.joined(separator: ", "))."
        }
    }

    /// How to record headers and bodies.
    static let remedy = "Headers and bodies need the recorder as the client's last plugin, such as .recorder(.shared)."
}
