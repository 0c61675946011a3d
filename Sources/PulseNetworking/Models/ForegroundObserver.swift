// SPDX-License-Identifier: MIT

import PulseCore

/// Observes the system's notifications that the app enters the foreground, until it is released.
// Unchecked: the tokens never change, and any thread may remove them.
final class ForegroundObserver: @unchecked Sendable {
    /// The notifications of UIKit, AppKit and WatchKit, by the values of their public constants, so that no UI
    /// framework is imported. Other platforms post none of them.
    static let names = [
        "UIApplicationWillEnterForegroundNotification", "NSApplicationDidBecomeActiveNotification",
        "WKApplicationWillEnterForegroundNotification",
    ]

    private let center: NotificationCenter
    private let tokens: [any NSObjectProtocol]

    init(_ center: NotificationCenter, onForeground: @escaping @Sendable () -> Void) {
        self.center = center
        tokens = Self.names.map { name in
            center.addObserver(forName: Notification.Name(name), object: nil, queue: nil) { _ in onForeground() }
        }
    }

    deinit {
        for token in tokens { center.removeObserver(token) }
    }
}
