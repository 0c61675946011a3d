// SPDX-License-Identifier: MIT

import PulseCore
import PulseStreams

/// Prints the server-sent events of a feed: `swift run OnePart https://example.com/feed`.
@main
enum OnePart {
    static func main() async throws {
        guard let feed = CommandLine.arguments.dropFirst().first else { return print("usage: OnePart URL") }
        let client = PulseClient(configuration: PulseConfiguration())
        for try await event in client.serverSentEvents(feed) {
            print(event.data)
        }
    }
}
