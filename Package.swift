// swift-tools-version: 6.0
// SPDX-License-Identifier: MIT

import PackageDescription

let package = Package(
    name: "PulseKit",
    platforms: [.iOS(.v15), .macOS(.v12), .tvOS(.v15), .watchOS(.v8), .visionOS(.v1)],
    products: [
        .library(name: "PulseKit", targets: ["PulseKit"]),
        .library(name: "PulseCore", targets: ["PulseCore"]),
        .library(name: "PulseNetworking", targets: ["PulseNetworking"]),
        .library(name: "PulsePlugins", targets: ["PulsePlugins"]),
        .library(name: "PulseObservability", targets: ["PulseObservability"]),
        .library(name: "PulseTesting", targets: ["PulseTesting"]),
        .executable(name: "pulse-demo", targets: ["pulse-demo"]),
    ],
    dependencies: [],
    targets: [
        .target(name: "PulseCore"),
        .target(name: "PulseObservability", dependencies: ["PulseCore"]),
        .target(name: "PulsePlugins", dependencies: ["PulseCore"]),
        .target(name: "PulseNetworking", dependencies: ["PulseCore", "PulseObservability"]),
        .target(name: "PulseTesting", dependencies: ["PulseCore", "PulseNetworking", "PulseObservability"]),
        .target(
            name: "PulseKit", dependencies: ["PulseCore", "PulseNetworking", "PulsePlugins", "PulseObservability"]),
        .executableTarget(name: "pulse-demo", dependencies: ["PulseKit", "PulseTesting"]),
        .testTarget(name: "PulseCoreTests", dependencies: ["PulseCore", "PulseTesting"]),
        .testTarget(name: "PulseObservabilityTests", dependencies: ["PulseObservability", "PulseTesting"]),
        .testTarget(name: "PulsePluginsTests", dependencies: ["PulsePlugins", "PulseNetworking", "PulseTesting"]),
        .testTarget(
            name: "PulseNetworkingTests",
            dependencies: ["PulseNetworking", "PulsePlugins", "PulseObservability", "PulseTesting"]),
        .testTarget(name: "PulseTestingTests", dependencies: ["PulseTesting", "PulseNetworking"]),
        .testTarget(name: "PulseJourneyTests", dependencies: ["PulseKit", "PulseTesting"]),
    ],
    swiftLanguageModes: [.v6]
)
