// SPDX-License-Identifier: MIT

#if canImport(SwiftUI)
public import PulseCore
public import SwiftUI

extension View {
    /// Makes the model visible while this view is: the triggers of its ``RefetchPolicy`` apply.
    ///
    /// ```swift
    /// List { … }.tracksVisibility(of: $orders)
    /// ```
    ///
    /// A model that several views track is visible while one of them is.
    public func tracksVisibility<E: Endpoint>(of model: RequestModel<E>) -> some View {
        task(id: ObjectIdentifier(model)) { await model.core.stayVisible() }
    }

    /// Makes the model visible while this view is, as for a ``RequestModel``.
    public func tracksVisibility<E: PaginatedEndpoint>(of model: PagedModel<E>) -> some View {
        task(id: ObjectIdentifier(model)) { await model.core.stayVisible() }
    }
}
#endif
