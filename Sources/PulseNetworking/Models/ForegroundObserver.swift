// SPDX-License-Identifier: MIT

import PulseCore

/// Hears from the system that the app comes to the foreground, until it is released.
// Unchecked: the tokens never change, and any thread may remove them.
final class ForegroundObserver: @unchecked Sendable {
    /// The notifications of UIKit, AppKit and WatchKit, by the values of their public constants: no module of Apple's
    /// needs to be imported, and none is posted elsewhere.
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
