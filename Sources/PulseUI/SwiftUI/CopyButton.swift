// SPDX-License-Identifier: MIT

#if canImport(SwiftUI)
import SwiftUI

#if canImport(UIKit)
import UIKit
#endif
#if canImport(AppKit) && !targetEnvironment(macCatalyst)
import AppKit
#endif

/// A button that copies a text; empty where there is no pasteboard.
struct CopyButton: View {
    let title: String
    let text: String

    var body: some View {
        #if !os(tvOS) && !os(watchOS)  // lacks: the pasteboard
        Button(title) {
            #if canImport(UIKit)
            UIPasteboard.general.string = text
            #endif
            #if canImport(AppKit) && !targetEnvironment(macCatalyst)
            NSPasteboard.general.clearContents()
            NSPasteboard.general.setString(text, forType: .string)
            #endif
        }
        #endif
    }
}

extension View {
    /// Makes the view's text selectable, where the platform supports it.
    func selectable() -> some View {
        #if !os(tvOS) && !os(watchOS)  // lacks: the selection of text
        textSelection(.enabled)
        #else
        self
        #endif
    }
}
#endif
