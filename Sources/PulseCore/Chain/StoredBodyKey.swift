// SPDX-License-Identifier: MIT

/// Whether the streamed body of the call is written to a file, as in a download. Nil for a stream that the app reads.
package enum StoredBodyKey: PluginContext.Key {
    package typealias Value = Bool
}
