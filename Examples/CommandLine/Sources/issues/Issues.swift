// SPDX-License-Identifier: MIT

import ArgumentParser
import Dispatch
import PulseKit

@main
struct Issues: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "issues", abstract: "Lists the issues of a repository.",
        discussion: "The environment variable GITHUB_TOKEN has the token, if the API needs one.")

    enum State: String, ExpressibleByArgument, CaseIterable {
        case open, closed, all
    }

    @Argument(help: "The repository, as OWNER/NAME.") var repository: String
    @Option(help: "The state of the issues.") var state = State.open
    @Option(help: "The most issues to list.") var limit = 100
    @Option(help: "The base URL of the API.") var url = "https://api.github.com"
    @Option(help: "The directory of the cache.") var cache: String?
    @Flag(help: "Read the cache only.") var offline = false
    @Flag(help: "Log the requests to standard error.") var verbose = false
    @Option(help: "Write a report of the requests to this HTML file.") var report: String?

    func validate() throws {
        guard names.count == 2 else { throw ValidationError("'\(repository)' is not OWNER/NAME.") }
        guard limit > 0 else { throw ValidationError("The limit is at least 1.") }
        guard URL(string: url)?.host != nil else { throw ValidationError("'\(url)' is not a URL.") }
    }

    private var names: [String] { repository.split(separator: "/").map(String.init) }

    func run() async throws {
        let recorder = report.map { _ in PulseRecorder() }
        let tracker = IssueTracker(
            url: URL(string: url)!,
            token: ProcessInfo.processInfo.environment["GITHUB_TOKEN"].flatMap { $0.isEmpty ? nil : $0 },
            cache: cache.map { URL(fileURLWithPath: $0) } ?? DiskCacheStorage.defaultDirectory(),
            isOffline: offline, logsRequests: verbose, recorder: recorder)
        let list = ListIssues(owner: names[0], name: names[1], state: state.rawValue, pageSize: min(limit, 100))
        let source = DispatchSource.makeSignalSource(signal: SIGINT)
        let interrupts = await interrupts(from: source)
        let listing = Task {
            try await tracker.issues(list, limit: limit) { print("#\($0.number)\t\($0.state)\t\($0.title)") }
        }
        let interruption = Task { for await _ in interrupts { listing.cancel() } }
        let result = await listing.result
        interruption.cancel()
        source.cancel()
        // Waits until the cache has stored what it got.
        await tracker.client.shutdown()
        if let recorder, let report { try write(recorder.recording(), to: report) }
        do {
            try result.get()
        } catch {
            let error = PulseError(wrapping: error)
            standardError("issues: \(error)")
            throw ExitCode(error)
        }
    }

    private func write(_ recording: PulseRecording, to file: String) throws {
        do {
            try PulseReport(recording, title: "issues \(repository)").write(to: URL(fileURLWithPath: file))
        } catch {
            standardError("issues: cannot write \(file): \(error)")
            throw ExitCode(73)  // EX_CANTCREAT
        }
    }

    /// Ctrl-C, in place of the end of the process. The source is registered on return, so that no later one is lost.
    private func interrupts(from source: any DispatchSourceSignal) async -> AsyncStream<Void> {
        let (interrupts, continuation) = AsyncStream<Void>.makeStream()
        source.setEventHandler { continuation.yield() }
        signal(SIGINT, SIG_IGN)
        await withCheckedContinuation { registered in
            source.setRegistrationHandler { registered.resume() }
            source.resume()
        }
        return interrupts
    }
}
