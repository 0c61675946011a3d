// SPDX-License-Identifier: MIT

/// Whether the offline queue takes the call as soon as it finds no connection: a retry would only delay that.
package enum QueuesAtOnce: PluginContext.Key {
    package typealias Value = Bool
}
