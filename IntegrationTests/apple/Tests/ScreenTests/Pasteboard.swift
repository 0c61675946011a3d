// SPDX-License-Identifier: MIT

// Not in a file that imports Testing: together they need a module of the toolchain for Apple platforms.
import UIKit

/// What a screen has copied.
enum Pasteboard {
    static var text: String? {
        get { UIPasteboard.general.string }
        set { UIPasteboard.general.string = newValue }
    }
}
