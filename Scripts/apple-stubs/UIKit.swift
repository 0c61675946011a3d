// SPDX-License-Identifier: MIT

// What the sources use of UIKit, after its headers. IntegrationTests/apple runs it.
public import Foundation

@MainActor
open class UIViewController {}

open class UIActivity {}

// iOS 6; unavailable on tvOS and watchOS.
@MainActor
open class UIActivityViewController: UIViewController, CustomStringConvertible {
    private let items: [Any]

    public init(activityItems: [Any], applicationActivities: [UIActivity]?) { items = activityItems }

    // Not of UIKit: what a test sees.
    nonisolated public var description: String { MainActor.assumeIsolated { "share \(items)" } }
}

// iOS 3; unavailable on tvOS and watchOS.
open class UIPasteboard {
    nonisolated(unsafe) private static let one = UIPasteboard()

    public class var general: UIPasteboard { one }
    open var string: String?
}

// iOS 2.
public final class UIImage {
    private let text: String

    // Not of UIKit: a picture of a text.
    public init(_ text: String) { self.text = text }
    public func pngData() -> Data? { Data(text.utf8) }
}
