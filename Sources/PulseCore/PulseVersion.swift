// SPDX-License-Identifier: MIT

/// The version of this package.
package enum PulseVersion {
    package static let current = "0.1.0"
}
