// SPDX-License-Identifier: MIT

// The umbrella: everything an app needs, with one import.
@_exported import PulseCore
@_exported import PulseNetworking
@_exported import PulseObservability
@_exported import PulsePlugins
@_exported import PulseStorage
