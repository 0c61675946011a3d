// SPDX-License-Identifier: MIT
//! Transfers that go on while the app is suspended, on Apple platforms.

import PulseKit

#if canImport(UIKit)
import UIKit
#else
class UIApplication {}
#endif

// snippet.delegate
@MainActor
final class AppDelegate {
    func application(
        _ application: UIApplication, handleEventsForBackgroundURLSession identifier: String,
        completionHandler: @escaping () -> Void
    ) {
        BackgroundTransfers.handleEvents(forSession: identifier) { completionHandler() }
    }
}
// snippet.end

// Called by no snippet: there is no background session on Linux.
func films(_ client: PulseClient, in folder: URL, _ film: String, _ file: URL, _ video: URL) async throws {
    // snippet.list
    let background = BackgroundTransfers(
        identifier: "com.example.films", directory: folder.appendingPathComponent("background"))
    let downloads = Downloads(
        directory: folder.appendingPathComponent("downloads"), client: client, background: background)
    try await downloads.start()  // at each launch, also one for the session's events
    try await downloads.add(film, to: file)
    // snippet.end

    // snippet.upload
    try await client.upload(
        video, to: "/videos", method: .post, in: background,
        options: RequestOptions().with(\.idempotencyKey, value: .value("video 1")))
    // snippet.end
}
