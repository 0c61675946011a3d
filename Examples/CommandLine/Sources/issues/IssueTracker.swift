// SPDX-License-Identifier: MIT

import PulseKit

struct Issue: Decodable, Sendable {
    let number: Int
    let title: String
    let state: String
}

/// A page of a repository's issues, with a `Link` to the next one.
struct ListIssues: Endpoint {
    typealias Response = [Issue]

    let owner: String
    let name: String
    let state: String
    let pageSize: Int

    var path: PathText { "/repos/\(owner)/\(name)/issues" }
    var queryParameters: [String: String] { ["state": state, "per_page": "\(pageSize)"] }
    let headers = ["Accept": "application/vnd.github+json"]
}

/// The client of the tool.
struct IssueTracker {
    let client: PulseClient
    private let options: RequestOptions

    /// - Parameter isOffline: whether only the cache is read.
    init(
        url: URL, token: String?, cache directory: URL, isOffline: Bool, logsRequests: Bool, recorder: PulseRecorder?
    ) {
        // The token comes first, since the cache keeps users apart by it.
        var plugins: [any PulsePlugin] = []
        if let token { plugins.append(.auth { token }) }
        plugins.append(.cache(policy: .rfc9111, storage: .disk(directory: directory, maxBytes: 16 << 20)))
        if logsRequests {
            plugins.append(.logger(options: .init(verbosity: .standard, output: { standardError($0) })))
        }
        if let recorder { plugins.append(.recorder(recorder)) }
        let events = PulseEventBus()
        recorder?.attach(to: events)
        client = PulseClient(
            configuration: PulseConfiguration(baseURL: url).with(\.timeout, value: 15).with(\.deadline, value: 60),
            plugins: plugins, events: events)
        options = RequestOptions().with(\.cache, value: isOffline ? .onlyIfCached : .default)
    }

    /// Calls `show` for the issues of a repository, page by page.
    func issues(_ list: ListIssues, limit: Int, show: (Issue) -> Void) async throws {
        var left = limit
        for try await page in client.pages(linkedFrom: list, options: options) {
            page.value.prefix(left).forEach(show)
            left -= page.value.count
            if left <= 0 { return }
        }
    }
}

func standardError(_ text: String) {
    FileHandle.standardError.write(Data((text + "\n").utf8))
}
