// SPDX-License-Identifier: MIT

/// Whether the streamed body of the call goes into a file, as that of a download does. Nil for a stream that the app
/// reads.
package enum StoresBody: PluginContext.Key {
    package typealias Value = Bool
}
