// SPDX-License-Identifier: MIT

/// The version of this package, for whoever has to name it.
package enum PulseVersion {
    package static let current = "0.1.0"
}
