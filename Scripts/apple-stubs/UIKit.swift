// SPDX-License-Identifier: MIT

// Declarations for Scripts/check-apple, never compiled into anything: what the sources use of UIKit, after its headers.
@MainActor
open class UIViewController {}

open class UIActivity {}

// iOS 6; unavailable on tvOS and watchOS.
@MainActor
open class UIActivityViewController: UIViewController {
    public init(activityItems: [Any], applicationActivities: [UIActivity]?) {}
}

// iOS 3; unavailable on tvOS and watchOS.
open class UIPasteboard {
    public class var general: UIPasteboard { fatalError() }
    open var string: String?
}
